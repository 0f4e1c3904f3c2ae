package toolbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/tools/agenttoolset"
)

// tool looks like a tool of the official toolset and is run in the box.
type tool struct {
	anthropic.BetaTool
	box *Box
}

// Tools returns the toolset. It can be used until Close.
func (b *Box) Tools() []anthropic.BetaTool {
	tools := agenttoolset.BetaAgentToolset20260401(&agenttoolset.AgentToolContext{})
	for i, t := range tools {
		tools[i] = tool{t, b}
	}
	return tools
}

// Execute implements anthropic.BetaTool.
func (t tool) Execute(ctx context.Context, input json.RawMessage) ([]anthropic.BetaToolResultBlockParamContentUnion, error) {
	a, err := t.box.call(ctx, t.Name(), input)
	if err != nil {
		return nil, err
	}
	if a.Error != "" {
		return nil, errors.New(a.Error)
	}
	var blocks []anthropic.BetaToolResultBlockParamContentUnion
	if err := json.Unmarshal(a.Content, &blocks); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name(), err)
	}
	return blocks, nil
}

// closer closes the box with the tools.
type closer struct{ tool }

// Close implements io.Closer.
func (c closer) Close() error { return c.box.Close() }

// ClosingTools is Tools for who closes tools and not boxes: agenttoolset's
// CloseAll closes the box.
func (b *Box) ClosingTools() []anthropic.BetaTool {
	tools := b.Tools()
	for i, t := range tools {
		tools[i] = closer{t.(tool)}
	}
	return tools
}
