package toolbox

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/tools/agenttoolset"
	"golang.org/x/sys/unix"
)

// endGrace is how long tools may take to notice that they are to end.
const endGrace = 2 * time.Second

// Serve is the child: it does what it is told on in, and returns when in ends,
// with the tools closed and the skills removed.
func Serve(in io.Reader, out io.Writer) error {
	orders := json.NewDecoder(in)
	var s setup
	if err := orders.Decode(&s); err != nil {
		return fmt.Errorf("tools: read the setup: %w", err)
	}
	unix.Umask(s.Umask)
	if err := os.Chdir(s.Workdir); err != nil {
		err = fmt.Errorf("the working directory cannot be used by the tools' user, uid %d: %w", os.Getuid(), err)
		_ = json.NewEncoder(out).Encode(answer{Error: err.Error()})
		return err
	}
	c := &server{out: json.NewEncoder(out), tools: make(map[string]anthropic.BetaTool), cancels: make(map[uint64]context.CancelFunc)}
	tools := agenttoolset.BetaAgentToolset20260401(&agenttoolset.AgentToolContext{
		Workdir: s.Workdir, AllowedRoots: s.AllowedRoots, ReadOnlyRoots: s.ReadOnlyRoots,
	})
	for _, t := range tools {
		c.tools[t.Name()] = t
	}
	skills, err := installSkills(s.Skills, s.Workdir)
	defer skills.remove()
	if err != nil {
		c.reply(answer{Error: err.Error()})
		return err
	}
	c.reply(answer{})
	defer agenttoolset.CloseAll(tools)
	return c.obey(orders)
}

// server is the child's side of the calls.
type server struct {
	tools map[string]anthropic.BetaTool

	mu      sync.Mutex
	out     *json.Encoder
	cancels map[uint64]context.CancelFunc
}

func (c *server) obey(orders *json.Decoder) error {
	var calls sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	defer func() {
		cancel()
		ended := make(chan struct{})
		go func() { calls.Wait(); close(ended) }()
		select {
		case <-ended:
		case <-time.After(endGrace):
		}
	}()
	for {
		var o order
		switch err := orders.Decode(&o); {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("tools: read an order: %w", err)
		}
		if o.Cancel {
			c.cancel(o.ID)
			continue
		}
		ctx := c.begin(ctx, o.ID)
		calls.Go(func() {
			c.reply(c.call(ctx, o))
			c.cancel(o.ID)
		})
	}
}

func (c *server) call(ctx context.Context, o order) answer {
	a := answer{ID: o.ID}
	tool, ok := c.tools[o.Tool]
	if !ok {
		a.Error = fmt.Sprintf("no tool %q", o.Tool)
		return a
	}
	blocks, err := tool.Execute(ctx, o.Input)
	if err == nil {
		a.Content, err = json.Marshal(blocks)
	}
	if err != nil {
		a.Error = err.Error()
		if a.Error == "" {
			a.Error = "failed"
		}
	}
	return a
}

func (c *server) begin(ctx context.Context, id uint64) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, c.cancels[id] = context.WithCancel(ctx)
	return ctx
}

func (c *server) cancel(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.cancels[id]; cancel != nil {
		cancel()
		delete(c.cancels, id)
	}
}

// reply cannot fail in a way that matters: without its worker the child ends
// with its input.
func (c *server) reply(a answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.out.Encode(a)
}
