//go:build linux

package soak

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is a memfs that serves one or two mounts, again and again.
type process struct {
	w      *world
	n      int
	state  string
	args   []string
	steady bool
	shared bool // the state directory is another's, too
	small  bool // the state directory is on the small disk
	mounts []*mount

	cmd  *exec.Cmd
	over chan struct{}

	mu sync.Mutex
	// life counts the starts; up says that the mounts can be used. gentle is the
	// last life that began after something other than a kill had become of the
	// one before: what is local only may be gone.
	life   int
	up     bool
	since  time.Time // when up changed last
	gentle int
	killed bool
	// lacking: this life began with a listing that may have lacked something.
	lacking bool
	events  []event
	codes   map[string]int

	metrics atomic.Pointer[string] // the address
}

// event is a line of the log.
type event struct {
	Level, Code, Message, Path, Store, Address string
	line                                       string
}

// Times, as bounds on hangs.
const (
	startMost = 40 * time.Second
	stopMost  = 50 * time.Second
	hangMost  = 90 * time.Second
)

func (p *process) String() string { return fmt.Sprint("p", p.n) }

func (p *process) env() []string {
	dir := p.w.dir
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "RUNTIME_DIRECTORY=" + filepath.Join(dir, "run"), "GORACE=halt_on_error=0 atexit_sleep_ms=0",
		"STATE_DIRECTORY=" + p.state, "ANTHROPIC_BASE_URL=" + p.w.server.url, "ANTHROPIC_API_KEY=" + p.String(), "MEMFS_LOG_FORMAT=json"}
	return env
}

// alive says which life it is, and whether its mounts can be used.
func (p *process) alive() (life int, up bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.life, p.up
}

func (p *process) set(up bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.up, p.since = up, time.Now()
}

// throughout reports whether the mounts could be used ever since.
func (p *process) throughout(from time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.up {
		return p.since.Before(from)
	}
	return false
}

// start starts memfs and waits until its mounts can be used, or it ends.
func (p *process) start() error {
	var specs []string
	for _, m := range p.mounts {
		specs = append(specs, m.store.id+":"+m.path)
	}
	args := append([]string{"mount", "--sync-interval", "1", "--metrics-addr", "0"}, append(specs, p.args...)...)
	p.cmd = exec.CommandContext(context.Background(), program, args...)
	p.cmd.Env, p.cmd.Dir = p.env(), p.w.dir
	// Ctrl-C is for the test, which ends it.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	errs, err := p.cmd.StderrPipe()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(p.w.dir, p.String()+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return errors.Join(err, log.Close())
	}
	p.over = make(chan struct{})
	mounted := make(chan struct{})
	go func() {
		defer close(p.over)
		left := len(p.mounts)
		lines := bufio.NewReader(errs)
		for {
			line, err := lines.ReadString('\n')
			if line != "" {
				_, _ = log.WriteString(line)
				if e := p.heard(line); e.Message == "mounted" {
					if left--; left == 0 {
						close(mounted)
					}
				}
			}
			if err != nil {
				break
			}
		}
		_ = p.cmd.Wait() // ProcessState tells
		_ = log.Close()
	}()
	began := time.Now()
	hung := make(chan struct{})
	defer p.w.bound(began, startMost, hung)()
	select {
	case <-mounted:
		p.mu.Lock()
		p.life++
		if !p.killed || p.shared {
			p.gentle = p.life
		}
		p.up, p.since = true, time.Now()
		p.lacking = p.w.lacked.Load() > began.UnixNano()
		p.mu.Unlock()
		return nil
	case <-p.over:
		return fmt.Errorf("%v does not start: %v", p, p.cmd.ProcessState)
	case <-hung:
		p.quit()
		return fmt.Errorf("%v is not mounted in %v", p, startMost)
	}
}

// heard keeps what is logged.
func (p *process) heard(line string) event {
	e := event{line: strings.TrimSpace(line)}
	_ = json.Unmarshal([]byte(line), &e) // "" where it is no event
	if e.Code == "metrics" {
		p.metrics.Store(&e.Address)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.codes == nil {
		p.codes = map[string]int{}
	}
	p.codes[e.Code]++
	if e.Level != "info" {
		p.events = append(p.events, e)
	}
	return e
}

// taken are the events since it was last asked, those of level info aside.
func (p *process) taken() []event {
	p.mu.Lock()
	defer p.mu.Unlock()
	events := p.events
	p.events = nil
	return events
}

// kill is SIGKILL.
func (p *process) kill() {
	p.set(false)
	p.killed = true
	_ = p.cmd.Process.Kill()
	<-p.over
}

// quit has it say what it waits for, and ends it.
func (p *process) quit() {
	p.set(false)
	_ = p.cmd.Process.Signal(syscall.SIGQUIT)
	select {
	case <-p.over:
	case <-time.After(5 * time.Second):
		p.kill()
	}
}

// stop is SIGTERM; it returns the exit code.
func (p *process) stop() (int, error) {
	p.set(false)
	p.killed = false
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, err
	}
	began := time.Now()
	hung := make(chan struct{})
	defer p.w.bound(began, stopMost, hung)()
	select {
	case <-p.over:
		return p.cmd.ProcessState.ExitCode(), nil
	case <-hung:
		p.quit()
		return 0, fmt.Errorf("%v does not end in %v; what it waits for is in its log", p, stopMost)
	}
}

// run runs a memfs command for the process to its end.
func (p *process) run(args ...string) (code int, stdout, stderr string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), hangMost)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = p.env(), p.w.dir, &out, &errs
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		err = nil
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String(), err
}

// stacked counts the mounts at a path, live or dead, and gives the last one's
// connection.
func stacked(path string) (n int, connection string, err error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return 0, "", err
	}
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if len(fields) > 4 && fields[4] == path {
			n++
			_, connection, _ = strings.Cut(fields[2], ":")
		}
	}
	return n, connection, nil
}

// clean takes dead mounts away, of a test that failed.
func (p *process) clean() {
	if p.over != nil {
		p.kill()
	}
	for _, m := range p.mounts {
		for n, _, err := stacked(m.path); n > 0 && err == nil; n, _, err = stacked(m.path) {
			_ = unix.Unmount(m.path, unix.MNT_DETACH)
		}
		_ = os.Remove(m.path)
	}
}
