package main

import (
	"context"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestInterruptible_LosesNoSignal: a signal either stops the attach or is still
// there for who waits next.
func TestInterruptible_LosesNoSignal(t *testing.T) {
	for range 200 {
		signals := make(chan os.Signal, 1)
		ctx, stopped := interruptible(context.Background(), signals)
		signals <- syscall.SIGTERM
		if !stopped() {
			require.Len(t, signals, 1)
			continue
		}
		require.Empty(t, signals)
		assert.ErrorIs(t, context.Cause(ctx), errStopped)
		assert.True(t, stopped(), "and again")
	}
	ctx, stopped := interruptible(context.Background(), make(chan os.Signal))
	assert.False(t, stopped())
	assert.Error(t, ctx.Err())
}
