//go:build linux || darwin

package guard

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// staleWait bounds the question whether a mount's process is alive.
const staleWait = 2 * time.Second

// Probe gathers the facts of this host.
func Probe(ctx context.Context, o Options) Facts {
	mounts, err := mountinfo.GetMounts(nil)
	if err != nil {
		mounts = nil
	}
	f := Facts{OS: runtime.GOOS, Kernel: kernelRelease(), Root: os.Geteuid() == 0, MountRoot: place(o.Root, mounts)}
	if o.StateDir != "" {
		f.State = place(o.StateDir, mounts)
	}
	for _, m := range mounts {
		if strings.HasPrefix(m.Source, "memfs:") && strings.Contains(m.FSType, "fuse") && dead(ctx, m.Mountpoint) {
			f.Stale = append(f.Stale, m.Mountpoint)
		}
	}
	probeFUSE(&f)
	return f
}

func kernelRelease() string {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(name.Release[:])
}

// place looks at a directory without making it.
func place(path string, mounts []*mountinfo.Info) Place {
	abs, err := filepath.Abs(path)
	if err != nil {
		return Place{Path: path, Existing: path, Err: err}
	}
	p := Place{Path: abs, Existing: abs}
	for {
		info, err := os.Stat(p.Existing)
		if errors.Is(err, fs.ErrNotExist) && p.Existing != "/" {
			if _, err := os.Lstat(p.Existing); err == nil {
				p.Err = unix.ENOENT // a link that leads nowhere: mkdir fails there
				return p
			}
			p.Existing = filepath.Dir(p.Existing)
			continue
		}
		switch {
		case err != nil:
			p.Err = err
		case !info.IsDir():
			p.Err = unix.ENOTDIR
		default:
			// The effective user's rights, and EROFS on a read-only filesystem.
			p.Err = unix.Faccessat(unix.AT_FDCWD, p.Existing, unix.W_OK|unix.X_OK, unix.AT_EACCESS)
			if p.Existing == p.Path {
				p.Unsafe, p.Ours = unsafe(info), Ours(p.Path)
			}
			p.Filesystem = filesystem(p.Existing, mounts)
		}
		return p
	}
}

// filesystem is the kind of the one that a path, resolved, lies on.
func filesystem(path string, mounts []*mountinfo.Info) (kind string) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	longest := 0
	for _, m := range mounts { // of several at one path the last is on top
		below := path == m.Mountpoint || strings.HasPrefix(path, strings.TrimSuffix(m.Mountpoint, "/")+"/")
		if below && len(m.Mountpoint) >= longest {
			longest, kind = len(m.Mountpoint), m.FSType
		}
	}
	return kind
}

// unsafe says why a directory cannot hold secrets.
func unsafe(info fs.FileInfo) string {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return "it belongs to uid " + strconv.Itoa(int(st.Uid))
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "other users can look into it"
	}
	return ""
}

// Ours reports whether a directory is a state directory of this user, or could
// only be one: nothing else lies in it, and it is not one like /tmp.
func Ours(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode()&os.ModeSticky != 0 {
		return false
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return false
	}
	stateEntries := []string{"conflicts", "memfs.log", "mountpoints", "replicas"}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !slices.Contains(stateEntries, e.Name()) })
}

// dead asks a mount for statfs, which the kernel never answers by itself. A
// process that hangs is not dead.
func dead(ctx context.Context, path string) bool {
	answer := make(chan error, 1)
	go func() {
		var st unix.Statfs_t
		answer <- unix.Statfs(path, &st)
	}()
	ctx, cancel := context.WithTimeout(ctx, staleWait)
	defer cancel()
	select {
	case err := <-answer:
		return errors.Is(err, unix.ENOTCONN)
	case <-ctx.Done():
		return false
	}
}
