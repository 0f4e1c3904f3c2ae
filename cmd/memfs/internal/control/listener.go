package control

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const suffix = ".sock"

// listen makes this process's socket in dir. The name appears only when the
// socket answers, so that whoever finds one that does not may remove it.
func listen(dir string) (*listener, error) {
	if err := prepare(dir); err != nil {
		return nil, err
	}
	name := filepath.Join(dir, strconv.Itoa(os.Getpid()))
	l, err := net.Listen("unix", name+".new")
	if err != nil {
		return nil, err
	}
	unix := l.(*net.UnixListener)
	unix.SetUnlinkOnClose(false)
	err = os.Chmod(name+".new", 0o600)
	if err == nil {
		err = os.Rename(name+".new", name+suffix)
	}
	if err != nil {
		_ = l.Close()
		_ = os.Remove(name + ".new")
		return nil, fmt.Errorf("control socket: %w", err)
	}
	return &listener{UnixListener: unix, path: name + suffix}, nil
}

// listener accepts connections of this user and of root only.
type listener struct {
	*net.UnixListener
	path string
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		uid, err := peerUID(c)
		if err == nil && allowed(uid, os.Geteuid()) {
			return c, nil
		}
		_ = c.Close()
	}
}

func allowed(peer, owner int) bool { return peer == 0 || peer == owner }

// Close also takes the name away.
func (l *listener) Close() error {
	_ = os.Remove(l.path)
	return l.UnixListener.Close()
}

// sockets lists the sockets in dir; none where another user could have planted
// them.
func sockets(dir string) []string {
	uid, err := owner(dir)
	if err != nil || !allowed(os.Geteuid(), uid) {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var paths []string
	for _, e := range entries {
		if pid, ok := strings.CutSuffix(e.Name(), suffix); ok && isNumber(pid) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}

func isNumber(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil
}
