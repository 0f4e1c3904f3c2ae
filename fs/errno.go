//go:build linux || darwin

package fs

import (
	"context"
	"errors"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"go.uber.org/zap"

	"memfs/store"
	"memfs/store/replica"
)

// errnos is the one place where an error becomes an errno. The first row that
// matches counts, so an error that wraps its cause stands above the cause.
var errnos = []struct {
	err   error
	errno syscall.Errno
}{
	// Only Read passes on that the caller was interrupted, and only while it
	// waits for the network.
	{context.Canceled, syscall.EINTR},

	{replica.ErrNotExist, syscall.ENOENT},
	{replica.ErrExist, syscall.EEXIST},
	{replica.ErrNotDir, syscall.ENOTDIR},
	{replica.ErrIsDir, syscall.EISDIR},
	{replica.ErrNotEmpty, syscall.ENOTEMPTY},
	{replica.ErrStale, syscall.ESTALE},
	{replica.ErrInvalid, syscall.EINVAL},
	{replica.ErrNameTooLong, syscall.ENAMETOOLONG},
	{replica.ErrNameIllegal, syscall.EINVAL},
	{replica.ErrFileTooLarge, syscall.EFBIG},
	{replica.ErrFull, syscall.ENOSPC},
	{replica.ErrTooMany, syscall.ENOSPC},
	{replica.ErrScratchFull, syscall.ENOSPC},
	{replica.ErrNoSpace, syscall.ENOSPC},
	{replica.ErrBroken, syscall.EIO},
	{replica.ErrNotFetched, syscall.EIO},
	{replica.ErrDamaged, syscall.EIO},
	{replica.ErrMoved, syscall.EIO},
	{replica.ErrClosed, syscall.EIO},
	{replica.ErrForeignState, syscall.EIO},
	{replica.ErrInUse, syscall.EBUSY},

	{store.ErrNotFound, syscall.EIO},
	{store.ErrPrecondition, syscall.EIO},
	{store.ErrConflict, syscall.EIO},
	{store.ErrTooLarge, syscall.EFBIG},
	{store.ErrInvalid, syscall.EINVAL},
	{store.ErrUnfit, syscall.EINVAL},
	{store.ErrFull, syscall.ENOSPC},
	{store.ErrArchived, syscall.EROFS},
	{store.ErrUnauthorized, syscall.EACCES},
	{store.ErrForbidden, syscall.EACCES},
	{store.ErrUnavailable, syscall.EIO},
	{store.ErrReadOnly, syscall.EROFS},
	{store.ErrProtocol, syscall.EIO},
	{store.ErrPathTooLong, syscall.ENAMETOOLONG},
	{store.ErrPathIllegal, syscall.EINVAL},
	{store.ErrNotText, syscall.EILSEQ},
}

// errno finds an error's row; false if it has none.
func errno(err error) (syscall.Errno, bool) {
	if err == nil {
		return 0, true
	}
	for _, row := range errnos {
		if errors.Is(err, row.err) {
			return row.errno, true
		}
	}
	return syscall.EIO, false
}

// status is the answer to a request that ended with err. What the table does
// not know is EIO, and said.
func (f *filesystem) status(err error, op string, ino replica.Ino, name string) fuse.Status {
	code, known := errno(err)
	if !known {
		f.log.Error("file operation failed for an unknown reason",
			zap.String("code", "unknown_error"), zap.String("op", op), zap.String("path", f.path(ino, name)), zap.Error(err))
	}
	return fuse.Status(code)
}

// path is where an operation took place, as far as it can still be told.
func (f *filesystem) path(ino replica.Ino, name string) string {
	path := ""
	if at, err := f.tree.Inspect(ino); err == nil {
		path = at.Path
	}
	if name != "" {
		path += "/" + name
	}
	return path
}
