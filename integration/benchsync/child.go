//go:build linux

package main

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

// childMains are the processes that a run starts, by their argument.
var childMains = map[string]func() error{"serve": serveMain, "memfs": memfsMain, "official": officialMain}

// patience is how long a child may take to end before it is killed.
const patience = 2 * time.Minute

// child is a process that reads its config and then orders, as JSON, from its
// input, answers each, and ends with the input.
type child struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *json.Decoder
}

// start starts a child and reads its first answer.
func start(what string, config, ready any) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{command: exec.Command(self, what)}
	c.command.Stderr = os.Stderr
	c.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt is the parent's to handle
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
	if err := c.ask(config, ready); err != nil {
		return nil, fmt.Errorf("%s: %w", what, errors.Join(err, c.end()))
	}
	return c, nil
}

// ask sends an order and waits for its answer.
func (c *child) ask(order, answer any) error {
	if err := json.NewEncoder(c.in).Encode(order); err != nil {
		return err
	}
	return c.out.Decode(answer)
}

func (c *child) end() error {
	hung := time.AfterFunc(patience, func() { _ = c.command.Process.Kill() })
	defer hung.Stop()
	_ = c.in.Close() // it may have ended already, which Wait tells
	return c.command.Wait()
}

// serveOrders answers the orders that come as JSON, until there are no more.
func serveOrders[T any](in *json.Decoder, do func(T) (any, error)) error {
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
