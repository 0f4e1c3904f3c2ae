package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"memfs/cmd/memfs/internal/exitcode"
)

// variable tells the background process which file descriptor is its end of
// the pipe.
const variable = "_MEMFS_READY_FD"

const ready = "ready\n"

// Start runs this program with args in the background and returns its process
// id when it is ready. Until then it writes to this process's standard error.
//
// Where it ends before it was ready, the error carries its exit code; it has
// said why itself, and errors.Is(err, ErrSaid) holds. When ctx ends first, it
// is told to stop and waited for.
func Start(ctx context.Context, args []string) (pid int, err error) {
	program, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("find the memfs program: %w", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return 0, fmt.Errorf("readiness pipe: %w", err)
	}
	defer func() { _ = r.Close() }()
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	cmd.ExtraFiles = []*os.File{w}
	cmd.Env = append(os.Environ(), variable+"=3")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_ = w.Close()
	if err != nil {
		return 0, fmt.Errorf("start in the background: %w", err)
	}
	unwatch := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
	said, err := io.ReadAll(r)
	if unwatch() && string(said) == ready {
		return cmd.Process.Pid, nil
	}
	return 0, ended(errors.Join(err, cmd.Wait()))
}

// ErrSaid marks an error that the background process has reported already.
var ErrSaid = errors.New("the background process ended before it was ready")

func ended(err error) error {
	code := exitcode.Failed
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		code = exit.ExitCode()
	}
	return exitcode.With(code, fmt.Errorf("%w: %w", ErrSaid, err))
}

// Child is the background process's end. It is nil in a process that was not
// started by Start; its methods may be called all the same.
type Child struct{ pipe *os.File }

// Inherit takes over what Start left in the environment of this process.
func Inherit() (*Child, error) {
	value, ok := os.LookupEnv(variable)
	if !ok {
		return nil, nil
	}
	_ = os.Unsetenv(variable)
	fd, err := strconv.Atoi(value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", variable, err)
	}
	unix.CloseOnExec(fd)
	return &Child{pipe: os.NewFile(uintptr(fd), "ready")}, nil
}

// Ready lets Start return. From here on what goes to standard error goes to
// log, and the working directory is the root, so as to hold none busy.
func (c *Child) Ready(log *os.File) error {
	if c == nil {
		return nil
	}
	if err := os.Chdir("/"); err != nil {
		return fmt.Errorf("leave the working directory: %w", err)
	}
	if err := redirect(int(log.Fd()), int(os.Stderr.Fd())); err != nil {
		return fmt.Errorf("redirect standard error to the log: %w", err)
	}
	_, err := c.pipe.WriteString(ready)
	return errors.Join(err, c.pipe.Close())
}
