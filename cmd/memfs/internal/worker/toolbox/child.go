package toolbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"go.uber.org/zap"
)

const (
	// startTime bounds the start of the child, the copying of skills included.
	startTime = time.Minute
	// cancelGrace is how long a tool may take to end after it was cancelled.
	cancelGrace = 5 * time.Second
	// closeGrace is how long the child may take to end its tools.
	closeGrace = 5 * time.Second
)

// child is the worker's side of the process that runs the tools.
type child struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     io.ReadCloser
	orders  *json.Encoder
	answers chan answer   // closed when there are no more
	exited  chan struct{} // closed when the process is gone
	log     *zap.Logger
}

// startChild starts the process and waits until it is ready.
func startChild(o Options) (_ *child, err error) {
	c := &child{answers: make(chan answer), exited: make(chan struct{}), log: o.Log}
	if err := c.launch(o); err != nil {
		return nil, err
	}
	go c.read()
	defer func() {
		if err != nil {
			err = errors.Join(err, c.end())
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	ready, err := c.exchange(ctx, setup{
		Workdir: o.Workdir, AllowedRoots: o.AllowedRoots, ReadOnlyRoots: o.ReadOnlyRoots, Skills: o.Skills, Umask: o.Umask,
	})
	switch {
	case errors.Is(err, errDied):
		return nil, errors.New("their process ended at once; its reason is in the log")
	case err != nil:
		return nil, err
	case ready.Error != "":
		return nil, errors.New(ready.Error)
	}
	return c, nil
}

// launch starts the process, with as many of the protections as this process
// has the privileges for.
func (c *child) launch(o Options) (err error) {
	for _, protect := range protections(o) {
		c.command = exec.Command(o.Command[0], o.Command[1:]...)
		c.command.Args[0] = "memfs"
		c.command.Env = append([]string{}, o.Environment...) // nil would be this process's
		c.command.Stderr, c.command.Dir = os.Stderr, "/"
		if c.in, err = c.command.StdinPipe(); err != nil {
			return err
		}
		if c.out, err = c.command.StdoutPipe(); err != nil {
			return err
		}
		if err = protect(c.command); err != nil {
			return err
		}
		if err = c.command.Start(); err == nil {
			c.orders = json.NewEncoder(c.in)
			return nil
		}
		c.log.Debug("the tools cannot be started in this way", zap.String("code", "tools_unprotected"), zap.Error(err))
	}
	return err
}

// read takes answers until the process is gone.
func (c *child) read() {
	defer close(c.exited)
	defer close(c.answers)
	answers := json.NewDecoder(c.out)
	for {
		var a answer
		if err := answers.Decode(&a); err != nil {
			break
		}
		c.answers <- a
	}
	// Whoever closed its output is of no use any more.
	_ = c.command.Process.Kill()
	_ = c.command.Wait()
}

// ask sends an order and waits for its answer, or errDied.
func (c *child) ask(ctx context.Context, o order) (answer, error) {
	if ctx.Err() != nil {
		return answer{}, context.Cause(ctx)
	}
	a, err := c.exchange(ctx, o)
	if err == nil || errors.Is(err, errDied) {
		return a, err
	}
	// The call is over; its answer must not be taken for that of the next.
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelGrace)
	defer cancel()
	if _, late := c.exchange(late, order{ID: o.ID, Cancel: true}); late != nil {
		return answer{}, fmt.Errorf("%w (%w)", errDied, err)
	}
	return answer{}, err
}

// exchange sends a value and waits for an answer. A child that an agent's command
// has stopped takes no more than its pipe holds: it is given up with ctx.
func (c *child) exchange(ctx context.Context, value any) (answer, error) {
	unblock := context.AfterFunc(ctx, func() { _ = c.in.Close() })
	err := c.orders.Encode(value)
	if sent := unblock(); err != nil || !sent {
		return answer{}, errDied
	}
	select {
	case a, ok := <-c.answers:
		if !ok {
			return answer{}, errDied
		}
		return a, nil
	case <-ctx.Done():
		return answer{}, context.Cause(ctx)
	}
}

// end ends the process and everything that was started below it.
func (c *child) end() error {
	_ = c.in.Close()
	go func() {
		for range c.answers { // nobody waits for them
		}
	}()
	select {
	case <-c.exited:
	case <-time.After(closeGrace):
		c.log.Warn("the tools do not end and are killed", zap.String("code", "tools_killed"))
		_ = c.command.Process.Kill()
		_ = c.out.Close() // what it started may hold the other end
		<-c.exited
	}
	return killOrphans()
}
