package fs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

const (
	// openStatus: see filesystem.Open.
	openStatus = fuse.ENOSYS
	// platformCapabilities: no message for opendir; and set-user-ID bits are
	// taken away here, so that the kernel asks for security.capability once a
	// file instead of once a write.
	platformCapabilities = fuse.CAP_NO_OPENDIR_SUPPORT | fuse.CAP_HANDLE_KILLPRIV_V2
	// renameNoReplace is the only flag of rename that is served.
	renameNoReplace = unix.RENAME_NOREPLACE
)
