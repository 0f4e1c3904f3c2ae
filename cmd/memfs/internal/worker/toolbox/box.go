package toolbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"go.uber.org/zap"
)

// Options say what tools may use and as whom they run.
type Options struct {
	// Command is the program of the child and its arguments: what calls Main.
	Command []string
	// Workdir is where relative paths start and commands run.
	Workdir string
	// AllowedRoots can be used beside Workdir; in ReadOnlyRoots the file tools
	// do not write.
	AllowedRoots, ReadOnlyRoots []string
	// Skills is a directory of skills to be copied to Workdir; "" is none. It
	// is read until Open returns.
	Skills string
	// Environment is the tools' whole environment; see Environment.
	Environment []string
	// Umask is the tools'.
	Umask int
	// User runs the tools; nil is the user of this process. It takes
	// privileges.
	User *User
	// Hide are directories and files that the tools do not see, where this
	// process has the privilege to hide them.
	Hide []string
	// Alone is a directory beside which the tools see no other in its parent,
	// under the same condition; "" is none.
	Alone string
	// Log gets one line an event; the child writes to standard error.
	Log *zap.Logger
}

// errDied is the answer to a call that ended the child.
var errDied = errors.New("the process that runs the tools ended; the next call starts a new one, with a new shell")

// Box runs tools. It is safe for concurrent use and runs one call at a time.
type Box struct {
	o Options

	mu    sync.Mutex
	child *child // nil where it is to be started
	last  uint64
}

// Open starts the child and returns when it is ready.
func Open(o Options) (*Box, error) {
	b := &Box{o: o}
	if err := b.start(); err != nil {
		return nil, err
	}
	b.o.Skills = "" // they are in Workdir now
	return b, nil
}

func (b *Box) start() error {
	c, err := startChild(b.o)
	if err != nil {
		return fmt.Errorf("start the tools: %w", err)
	}
	b.child = c
	return nil
}

// call has the child run a tool. The end of ctx ends the call.
func (b *Box) call(ctx context.Context, tool string, input json.RawMessage) (answer, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.revive(); err != nil {
		return answer{}, err
	}
	b.last++
	a, err := b.child.ask(ctx, order{ID: b.last, Tool: tool, Input: input})
	if errors.Is(err, errDied) {
		b.o.Log.Warn("the process that runs the tools ended during a call", zap.String("code", "tools_ended"), zap.String("tool", tool))
		_ = b.child.end()
		b.child = nil
	}
	return a, err
}

// revive starts the child again where it has ended: an agent's shell can kill
// it.
func (b *Box) revive() error {
	if b.child != nil {
		select {
		case <-b.child.exited:
			_ = b.child.end()
			b.child = nil
		default:
			return nil
		}
	}
	return b.start()
}

// Close ends the tools and everything that they started.
func (b *Box) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.child == nil {
		return nil
	}
	err := b.child.end()
	b.child = nil
	return err
}
