//go:build linux || darwin

package fs

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync/atomic"

	"github.com/hanwen/go-fuse/v2/fuse"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"
)

const (
	// typeName is behind "fuse." in the type of a mount.
	typeName = "memfs"
	// sourcePrefix and the store's id are the source of a mount.
	sourcePrefix = "memfs:"
)

// Why a directory cannot be mounted on. Each text says what to do.
var (
	// ErrNoDevice: there is no FUSE in this kernel or container.
	ErrNoDevice = errors.New("/dev/fuse is missing: load the fuse module, or give the container --device /dev/fuse")
	// ErrDeviceAccess: this user may not open /dev/fuse.
	ErrDeviceAccess = errors.New("no permission to open /dev/fuse: chmod 666 /dev/fuse, or run as root")
	// ErrNoHelper: an ordinary user needs fusermount3.
	ErrNoHelper = errors.New("fusermount3 is missing: install fuse3, or run as root")
	// ErrNotPermitted: root without the right to mount, as in most containers.
	ErrNotPermitted = errors.New("not permitted to mount: CAP_SYS_ADMIN is missing; give the container --cap-add SYS_ADMIN")
	// ErrAllowOther: the host does not let ordinary users do that.
	ErrAllowOther = errors.New("allow-other needs the line user_allow_other in /etc/fuse.conf")
	// ErrMounted: a live filesystem is mounted there already.
	ErrMounted = errors.New("already mounted")
)

// Options say what is mounted, where and for whom.
type Options struct {
	// Replica is the tree that is shown.
	Replica Tree
	// Path is an existing directory.
	Path string
	// StoreID names the mount in /proc/mounts: "memfs:<id>".
	StoreID string
	// AllowOther lets users other than this process's in, as far as
	// permission bits do.
	AllowOther bool
	// Strict refuses writes with EROFS, whoever writes (R10).
	Strict bool
	// Status is what the root's user.memfs.status shows, as JSON of at most 64
	// KiB; nil is the replica's own. It must not wait for this mount.
	Status func() any
	// Observe hears of each operation once it is answered, in the handler's
	// goroutine; nil costs nothing.
	Observe func(Operation)
	// Log gets one line an event; nil logs nothing.
	Log *zap.Logger
	// OnPanic hears of each panic in a handler, after it was logged; may be
	// nil. The request fails with EIO and the mount goes on.
	OnPanic func(value any)
}

// Mounted is a mounted replica.
type Mounted struct {
	path     string
	device   device
	id       int // in the mount table; 0 on macOS
	source   string
	notifier *notifier
	log      *zap.Logger
	panics   atomic.Int64
	done     chan struct{}
	detached chan struct{}
}

// Mount mounts a replica. When it returns, the mount can be used, though never
// by this process itself: see the package's comment.
//
// A dead memfs mount at the path is cleaned away first. A live mount of any
// FUSE filesystem there is ErrMounted.
func Mount(o Options) (*Mounted, error) {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	path, err := realPath(o.Path)
	if err != nil {
		return nil, fmt.Errorf("mount %s: %w", o.Path, err)
	}
	m := &Mounted{path: path, done: make(chan struct{}), detached: make(chan struct{}),
		log: o.Log.With(zap.String("store", o.StoreID), zap.String("path", path))}
	if err := m.mount(o); err != nil {
		return nil, m.fault(err)
	}
	return m, nil
}

// fault puts the path to errors that do not say for themselves what is wrong.
func (m *Mounted) fault(err error) error {
	for _, sentence := range []error{ErrMounted, ErrNoDevice, ErrDeviceAccess, ErrNoHelper, ErrNotPermitted, ErrAllowOther} {
		if errors.Is(err, sentence) {
			return err
		}
	}
	return fmt.Errorf("mount %s: %w", m.path, err)
}

func (m *Mounted) mount(o Options) error {
	if err := clearPath(m.path, m.log); err != nil {
		return err
	}
	if err := mountable(o); err != nil {
		return err
	}
	release, err := claim(m.path)
	if err != nil {
		return err
	}
	defer release()
	f := newFilesystem(o.Replica, o.StoreID, m.log)
	if o.Status != nil {
		f.describe = o.Status
	}
	m.notifier = f.notifier
	o.Replica.Watch(f.notifier.changed)
	server, err := fuse.NewServer(observe(f, o.Observe), m.path, m.options(o))
	if err != nil {
		f.notifier.disarm()
		return explain(err)
	}
	verified := make(chan struct{})
	defer close(verified)
	table := watchTable(m.log)
	go m.serve(server, table, verified)
	if err := m.verify(server); err != nil {
		f.notifier.disarm()
		return errors.Join(err, unmountLazily(m.path))
	}
	go m.awaitDetached(table)
	f.notifier.start(server)
	return nil
}

// verify waits until the mount is there and learns its device.
func (m *Mounted) verify(server *fuse.Server) error {
	if err := awaitReady(server); err != nil {
		return err
	}
	here, err := mountsAt(m.path)
	if err != nil {
		return err
	}
	if len(here) == 0 {
		return errors.New("the mount vanished while it was made")
	}
	top := here[len(here)-1]
	m.device, m.id, m.source = top.device, top.id, top.source
	return nil
}

func (m *Mounted) options(o Options) *fuse.MountOptions {
	options := &fuse.MountOptions{
		Name:         typeName,
		FsName:       sourcePrefix + o.StoreID,
		AllowOther:   o.AllowOther,
		Options:      []string{"default_permissions", "nosuid", "nodev"},
		Logger:       libraryLog(m.log),
		PanicHandler: func(value any) fuse.Status { return m.panicked(value, o.OnPanic) },
	}
	cachePolicy(options)
	mountPolicy(options, o.Strict)
	return options
}

// serve answers requests until the mount is gone, whoever unmounted it.
func (m *Mounted) serve(server *fuse.Server, table *tableChanges, verified <-chan struct{}) {
	defer table.close()
	defer close(m.done)
	server.Serve()
	<-verified
	m.notifier.disarm()
	if path := m.place(); m.attached(path) && !m.covered(path) && Stale(path) {
		// The connection was aborted and left a dead mount behind. A live one is
		// somebody else's, with the device that was ours.
		if err := unmountLazily(path); err != nil {
			m.log.Warn("dead mount left behind", zap.String("code", "dead_mount_left"), zap.Error(err))
		}
	}
}

// panicked runs in the handler's goroutine, before its stack unwinds.
func (m *Mounted) panicked(value any, then func(any)) fuse.Status {
	m.panics.Add(1)
	m.log.Error("a file operation panicked; it failed with EIO and the mount goes on",
		zap.String("code", "panic"), zap.String("panic", fmt.Sprint(value)), zap.ByteString("stack", debug.Stack()))
	if then != nil {
		then(value)
	}
	return fuse.EIO
}

// Path is where the mount is: absolute, with no symbolic link in it.
func (m *Mounted) Path() string { return m.path }

// Panics is how many handlers panicked. Above zero the mount is degraded: this
// is a fault of memfs.
func (m *Mounted) Panics() int64 { return m.panics.Load() }

// Settle returns once the kernel knows of every remote change that was made
// before the call, so that whoever opens a file then sees it. It is called with
// no lock held, and not from a handler.
func (m *Mounted) Settle(ctx context.Context) error {
	select {
	case <-m.notifier.told():
		return nil
	case <-m.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Done is closed when the mount is gone and its last user with it, whoever
// unmounted it.
func (m *Mounted) Done() <-chan struct{} { return m.done }

// Wait waits for Done.
func (m *Mounted) Wait() { <-m.done }

// maxLinks is how many symbolic links in a row a path may end with, as in the
// kernel.
const maxLinks = 40

// realPath resolves all links in path but touches nothing at its end, where a
// dead mount may be.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	for range maxLinks {
		parent, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return "", err
		}
		path = filepath.Join(parent, filepath.Base(path))
		target, err := os.Readlink(path) // fails for all but links
		if err != nil {
			return path, nil
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(parent, target)
		}
		path = target
	}
	return "", fmt.Errorf("%s: %w", path, unix.ELOOP)
}

// explain turns what opening /dev/fuse and mounting fail with into a remedy.
func explain(err error) error {
	switch {
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w (%w)", ErrNotPermitted, err)
	case errors.Is(err, unix.EACCES):
		return fmt.Errorf("%w (%w)", ErrDeviceAccess, err)
	case errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		return fmt.Errorf("%w (%w)", ErrNoDevice, err)
	}
	return err
}

// libraryLog takes what go-fuse has to say: trouble with the connection.
func libraryLog(l *zap.Logger) *log.Logger {
	std, err := zap.NewStdLogAt(l.Named("fuse"), zapcore.WarnLevel)
	if err != nil {
		return log.Default() // only for a level that zap does not know
	}
	return std
}
