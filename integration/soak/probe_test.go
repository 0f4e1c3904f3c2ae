//go:build linux

package soak

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"memfs/integration/benchchild"
)

// probeWord starts this program as the prober: a process of its own that starts
// no others, since one that does stands still while an exec waits for a mount.
const probeWord = "soak-probe"

// opMost bounds a local file operation, as a bound on hangs.
const opMost = 3 * time.Second

// probeConfig says where the prober does what local file operations are, over
// and over: none of it needs the store.
type probeConfig struct{ Mounts []string }

// probeOrder asks for what was remarkable since it was last asked.
type probeOrder struct{ Pause bool }

type probeAnswer struct {
	Remarks []remark
	// Waiting are the operations that have not ended.
	Waiting []remark
}

// remark is an operation that took long or failed.
type remark struct {
	Mount, Op string
	Began     time.Time
	Took      time.Duration
	// Stall is for how long the prober stood still meanwhile: with it the host.
	Stall time.Duration
	Errno syscall.Errno
}

// prober is the child's state.
type prober struct {
	stalls *stalls

	mu      sync.Mutex
	remarks []remark
	going   map[string]remark // by mount

	quiet sync.RWMutex // held for reading by a cycle
}

func probeMain() error {
	in := json.NewDecoder(os.Stdin)
	var c probeConfig
	if err := in.Decode(&c); err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(probeAnswer{}); err != nil {
		return err
	}
	p := &prober{stalls: newStalls(), going: map[string]remark{}}
	over := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(p.stalls.run(over))
	defer watching.Wait()
	defer close(over)
	for _, mount := range c.Mounts {
		go func() {
			for {
				p.quiet.RLock()
				p.cycle(mount)
				p.quiet.RUnlock()
				time.Sleep(200 * time.Millisecond)
			}
		}()
	}
	paused := false
	return benchchild.Serve(in, func(o probeOrder) (any, error) {
		if paused {
			p.quiet.Unlock()
		}
		if paused = o.Pause; paused {
			p.quiet.Lock()
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		answer := probeAnswer{Remarks: p.remarks}
		for _, r := range p.going {
			r.Took, r.Stall = time.Since(r.Began), p.stalls.since(r.Began)
			if r.Took > opMost {
				answer.Waiting = append(answer.Waiting, r)
			}
		}
		p.remarks = nil
		return answer, nil
	})
}

func (p *prober) cycle(mount string) {
	file := filepath.Join(mount, "probe~")
	for _, op := range []struct {
		name string
		do   func() error
	}{
		{"statfs", func() error { return live(mount) }},
		{"stat", func() error { _, err := os.Stat(mount); return err }},
		{"readdir", func() error { _, err := os.ReadDir(mount); return err }},
		{"write", func() error { return os.WriteFile(file, []byte("probe"), 0o600) }},
		{"read", func() error { _, err := os.ReadFile(file); return err }},
		{"rename", func() error { return os.Rename(file, file+"~") }},
		{"unlink", func() error { return os.Remove(file + "~") }},
	} {
		r := remark{Mount: mount, Op: op.name, Began: time.Now()}
		p.mu.Lock()
		p.going[mount] = r
		p.mu.Unlock()
		err := op.do()
		r.Took = time.Since(r.Began)
		errors.As(err, &r.Errno)
		if r.Took > opMost {
			time.Sleep(time.Second) // until a stall is known
			r.Stall = p.stalls.since(r.Began)
		}
		p.mu.Lock()
		delete(p.going, mount)
		if r.Took > opMost || err != nil {
			p.remarks = append(p.remarks, r)
		}
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// live is an error where nothing is mounted: what is written then would be in
// the way.
func live(mount string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(mount, &st); err != nil {
		return err
	}
	if st.Type != unix.FUSE_SUPER_MAGIC {
		return unix.ENOENT
	}
	return nil
}
