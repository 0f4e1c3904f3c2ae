//go:build linux

// Package benchchild starts a benchmark program again as a child and talks to
// it in JSON: what is measured runs in a process of its own.
package benchchild

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Patience is how long a child may take to end before it is killed.
const Patience = 2 * time.Minute

// Child is a process that reads its config and then orders, as JSON, from its
// input, answers each, and ends with the input.
type Child struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *json.Decoder
}

// Start starts this program again with one argument, gives it a configuration
// and reads its first answer. The child is a process group of its own: an
// interrupt is the parent's to handle.
func Start(what string, config, ready any) (*Child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &Child{command: exec.Command(self, what)}
	c.command.Stderr = os.Stderr
	c.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if c.in, err = c.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = json.NewDecoder(out)
	if err := c.command.Start(); err != nil {
		return nil, err
	}
	if err := c.Ask(config, ready); err != nil {
		return nil, fmt.Errorf("%s: %w", what, errors.Join(err, c.End()))
	}
	return c, nil
}

// Ask sends an order and waits for its answer.
func (c *Child) Ask(order, answer any) error {
	if err := json.NewEncoder(c.in).Encode(order); err != nil {
		return err
	}
	return c.out.Decode(answer)
}

// PID is the child's process id.
func (c *Child) PID() int { return c.command.Process.Pid }

// End closes the child's input and waits for its end.
func (c *Child) End() error {
	hung := time.AfterFunc(Patience, func() { _ = c.command.Process.Kill() })
	defer hung.Stop()
	_ = c.in.Close() // it may have ended already, which Wait tells
	return c.command.Wait()
}

// Serve is the child's side: it answers the orders that come as JSON, until there are no more.
func Serve[T any](in *json.Decoder, do func(T) (any, error)) error {
	out := json.NewEncoder(os.Stdout)
	for {
		var order T
		if err := in.Decode(&order); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		answer, err := do(order)
		if err != nil {
			return err
		}
		if err := out.Encode(answer); err != nil {
			return err
		}
	}
}
