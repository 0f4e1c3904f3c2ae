package worker

import (
	"context"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"memfs/cmd/memfs/internal/supervise"
)

// R15: a second signal counts also where it comes while the tool in flight is
// waited for, and what tells a process and its group is one signal.
func TestR15_SecondSignalIsKeptForTheFinalPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancelCause(t.Context())
		s := &serving{log: zap.NewNop(), end: end, again: make(chan os.Signal, 1)}
		signals, over := make(chan os.Signal), make(chan struct{})
		defer close(over)
		go s.listen(signals, over)
		signals <- syscall.SIGTERM
		synctest.Wait()
		require.ErrorIs(t, context.Cause(ctx), errSignal)
		time.Sleep(supervise.OneStop - time.Millisecond)
		signals <- syscall.SIGTERM
		synctest.Wait()
		assert.Empty(t, s.again, "these are one stop")
		time.Sleep(time.Millisecond)
		signals <- syscall.SIGTERM
		synctest.Wait()
		assert.Len(t, s.again, 1)
	})
}

func TestR15_PollTakesOneStopForOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &poll{c: PollConfig{Log: zap.NewNop()}, hurry: make(chan struct{})}
		hurried := func() bool {
			synctest.Wait()
			select {
			case <-p.hurry:
				return true
			default:
				return false
			}
		}
		signals, over, draining := make(chan os.Signal), make(chan struct{}), make(chan struct{})
		defer close(over)
		go p.listen(signals, func() { close(draining) }, over)
		signals <- syscall.SIGTERM
		<-draining
		signals <- syscall.SIGTERM
		assert.False(t, hurried(), "these are one stop")
		time.Sleep(supervise.OneStop)
		signals <- syscall.SIGTERM
		assert.True(t, hurried())
	})
}
