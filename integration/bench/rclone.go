//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"memfs/integration/benchchild"
)

// rcloneMount is rclone's mount, with its write-back cache, of a WebDAV server
// that is rclone too. Between the two stands a server of ours, which counts
// and delays requests.
type rcloneMount struct {
	path    string // the mount
	source  string // what the WebDAV server serves
	server  *exec.Cmd
	between *remote
	mount   *exec.Cmd
	began   time.Time // when it was started
}

// haveRclone says whether there is an rclone; the report says so if not.
func (b *bench) haveRclone() bool {
	_, err := exec.LookPath("rclone")
	if err != nil {
		b.report.note("no rclone was measured: %v", err)
	}
	return err == nil
}

// startRclone serves files of a shape and mounts them. writeBack is how long a
// file rests after its last use before it is sent.
func (b *bench) startRclone(s shape, latency, writeBack time.Duration) (r *rcloneMount, err error) {
	dir, err := os.MkdirTemp(b.top, "rclone-")
	if err != nil {
		return nil, err
	}
	r = &rcloneMount{path: filepath.Join(dir, "mnt"), source: filepath.Join(dir, "source")}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if err := os.Mkdir(r.path, 0o700); err != nil {
		return r, err
	}
	if err := s.write(r.source); err != nil {
		return r, err
	}
	address, err := freeAddress()
	if err != nil {
		return r, err
	}
	if r.server, err = rclone(dir, "serve", "webdav", r.source, "--addr", address); err != nil {
		return r, err
	}
	if err := soon(func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}); err != nil {
		return r, fmt.Errorf("rclone serve: %w", err)
	}
	if r.between, err = serve(serveConfig{Upstream: "http://" + address, Latency: latency}); err != nil {
		return r, err
	}
	r.began = time.Now()
	if r.mount, err = rclone(dir, "mount", ":webdav:", r.path, "--webdav-url", r.between.Slow, "--vfs-cache-mode", "full",
		"--vfs-write-back", writeBack.String(), "--dir-cache-time", "24h"); err != nil {
		return r, err
	}
	var above, here unix.Stat_t
	if err := unix.Stat(dir, &above); err != nil {
		return r, err
	}
	if err := soon(func() bool { return unix.Stat(r.path, &here) == nil && here.Dev != above.Dev }); err != nil {
		return r, fmt.Errorf("rclone mount: %w", err)
	}
	return r, nil
}

func rclone(dir string, args ...string) (*exec.Cmd, error) {
	c := exec.Command("rclone", append(args, "--config", os.DevNull, "--cache-dir", filepath.Join(dir, "cache"), "--log-level", "ERROR")...)
	c.Stderr = os.Stderr
	return c, c.Start()
}

// freeAddress is one that nobody listens at now.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// soon waits until something is so.
func soon(so func() bool) error {
	for limit := time.Now().Add(benchchild.Patience); time.Now().Before(limit); time.Sleep(5 * time.Millisecond) {
		if so() {
			return nil
		}
	}
	return errors.New("this does not come to pass")
}

func (r *rcloneMount) close() error {
	var errs []error
	if r.mount != nil {
		errs = append(errs, unix.Unmount(r.path, unix.MNT_DETACH), ended(r.mount))
	}
	if r.between != nil {
		errs = append(errs, r.between.end())
	}
	if r.server != nil {
		errs = append(errs, ignoreExit(terminate(r.server)))
	}
	return errors.Join(append(errs, os.RemoveAll(filepath.Dir(r.path)))...)
}

// ignoreExit: rclone serve knows no other end than by a signal.
func ignoreExit(err error) error {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil
	}
	return err
}

// meter measures what a mount spends, from now on.
type meter struct {
	r     *rcloneMount
	began time.Time
	asked int64
	cpu   time.Duration
}

func (r *rcloneMount) meter() (m meter, err error) {
	m = meter{r: r, began: time.Now()}
	if m.asked, err = r.between.requests(); err != nil {
		return m, err
	}
	s, err := statOf(r.mount.Process.Pid)
	m.cpu = s.cpu
	return m, err
}

func (m meter) read() (cost, error) {
	took := time.Since(m.began)
	now, err := m.r.between.requests()
	if err != nil {
		return cost{}, err
	}
	s, err := statOf(m.r.mount.Process.Pid)
	return cost{took.Seconds(), now - m.asked, float64((s.cpu - m.cpu).Milliseconds())}, err
}

// rcloneSession measures those rows of a session whose work rclone can do, too:
// it knows no passes, sends each file by itself, and hears of no remote change.
func (b *bench) rcloneSession(ctx context.Context, group string, s shape, latency time.Duration) (err error) {
	if !b.haveRclone() {
		return nil
	}
	b.report.note("rclone mount --vfs-cache-mode full --dir-cache-time 24h, --vfs-write-back 0s in sessions and 24h for files")
	r, err := b.startRclone(s, latency, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.readAll(ctx, b, group, s); err != nil {
		return err
	}
	// The edits: of one file, and of all.
	if err := r.edits(b, group, rowEdit, s, 1, 1); err != nil {
		return err
	}
	return r.edits(b, group, rowEnd, s, s.count, 2)
}

// readAll reads one file, and then all, eight at a time.
func (r *rcloneMount) readAll(ctx context.Context, b *bench, group string, s shape) error {
	holds := func(i int) error {
		here, err := os.ReadFile(r.path + s.path(i))
		if err == nil && !bytes.Equal(here, s.text(i, 0)) {
			err = fmt.Errorf("%s does not hold what it should", s.path(i))
		}
		return err
	}
	if err := holds(s.count / 2); err != nil {
		return err
	}
	b.report.add(group, rowFirst, seconds, rcloned, time.Since(r.began).Seconds())
	reading, _ := errgroup.WithContext(ctx)
	reading.SetLimit(8)
	for i := range s.count {
		reading.Go(func() error { return holds(i) })
	}
	if err := reading.Wait(); err != nil {
		return err
	}
	c, err := meter{r: r, began: r.began}.read()
	b.report.addCost(group, rowAll, rcloned, c)
	return err
}

// edits changes the first n files, and waits until the server has all.
func (r *rcloneMount) edits(b *bench, group, name string, s shape, n, edition int) error {
	m, err := r.meter()
	if err != nil {
		return err
	}
	for i := range n {
		if err := os.WriteFile(r.path+s.path(i), s.text(i, edition), 0o600); err != nil {
			return err
		}
	}
	for i := range n {
		if err := soon(func() bool {
			there, err := os.ReadFile(r.source + s.path(i))
			return err == nil && bytes.Equal(there, s.text(i, edition))
		}); err != nil {
			return fmt.Errorf("%s on the server: %w", s.path(i), err)
		}
	}
	c, err := m.read()
	b.report.addCost(group, name, rcloned, c)
	return err
}
