package main

import (
	"os"

	"github.com/spf13/pflag"

	"memfs"
	"memfs/cmd/memfs/internal/flags"
)

// owner says whose files a store's are, and what others may do with them.
type owner struct {
	uid, gid uint32
	umask    uint32
}

const (
	permissions = 0o777
	// maxUmask leaves the owner at least the right to read.
	maxUmask = 0o377
)

func (o *owner) define(set *pflag.FlagSet) {
	flags.IDVar(set, &o.uid, "uid", uint32(os.Getuid()), "`user`, a number, who owns what a store brings")
	flags.IDVar(set, &o.gid, "gid", uint32(os.Getgid()), "`group`, a number, of what a store brings")
	for _, name := range []string{"uid", "gid"} {
		set.Lookup(name).DefValue = "yours"
	}
	flags.OctalVar(set, &o.umask, "umask", 0o077, maxUmask, "permission bits that what a store brings does not have")
}

// apply sets the library's options.
func (o *owner) apply(to *memfs.Options) {
	to.Owner = &memfs.Owner{UID: o.uid, GID: o.gid}
	to.FileMode, to.DirMode = 0o666&^o.umask, permissions&^o.umask
}
