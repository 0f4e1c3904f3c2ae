package fs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

const (
	// openStatus: macFUSE knows no filesystem without open.
	openStatus = fuse.OK
	// platformCapabilities: none of Linux's.
	platformCapabilities = 0
	// renameNoReplace is the only flag of rename that is served.
	renameNoReplace = unix.RENAME_EXCL
)
