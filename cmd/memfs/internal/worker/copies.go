package worker

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/lib/environments"
	"github.com/anthropics/anthropic-sdk-go/v2/tools/agenttoolset"
	"go.uber.org/zap"

	"memfs/cmd/memfs/internal/worker/toolbox"
	"memfs/reconcile"
)

// ServeCopies serves a work item where nothing can be mounted: the official
// worker copies the stores into directories, and syncs those after tool calls.
// The tools are still kept from its credentials.
func ServeCopies(c Config, item Item, signals <-chan os.Signal) error {
	log := c.Log.With(zap.String("work_id", item.ID))
	ctx, end := context.WithCancelCause(context.Background())
	defer end(nil)
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case got := <-signals:
			log.Info("told to end: changed files are uploaded", zap.String("code", "told_to_end"), zap.Stringer("signal", got))
			end(errSignal)
		case <-over:
		}
	}()
	transport := newTransport()
	defer transport.CloseIdleConnections()
	var failed error
	official := environments.NewEnvironmentWorker(newClient(c.BaseURL, item.credential(), transport), environments.EnvironmentWorkerOptions{
		Workdir: c.Workdir, MaxIdle: &c.MaxIdle, MemorySyncInterval: copyInterval(c), MemorySyncDeletions: copyDeletions(c), Logger: sdkLog(log),
		ToolsFunc: func(env *agenttoolset.AgentToolContext) []anthropic.BetaTool {
			o := c.Tools
			o.Log, o.Workdir, o.AllowedRoots, o.ReadOnlyRoots = log, env.Workdir, env.AllowedRoots, env.ReadOnlyRoots
			box, err := toolbox.Open(o)
			if err != nil {
				log.Error("the tools cannot be started", zap.String("code", "tools_failed"), zap.Error(err))
				failed = err
				end(err) // what is returned here cannot fail the item
				return nil
			}
			return box.ClosingTools()
		},
	})
	err := official.HandleItem(ctx, environments.HandleItemOptions{
		WorkID: item.ID, EnvironmentID: item.EnvironmentID, SessionID: item.SessionID, EnvironmentKey: item.EnvironmentKey,
		WorkSecret: item.secret, ExpectedLastHeartbeat: item.LastHeartbeat,
	})
	if ctx.Err() != nil && failed == nil {
		return nil
	}
	return errors.Join(failed, err)
}

// copyInterval is within what the official worker accepts.
func copyInterval(c Config) time.Duration {
	if c.NoMemory {
		return -1
	}
	return max(c.Attach.Sync.Interval, environments.MinMemorySyncInterval)
}

func copyDeletions(c Config) environments.MemoryDeleteMode {
	switch c.Attach.Sync.Deletions {
	case reconcile.DeletionsLogOnly:
		return environments.MemorySyncDeletionsLogOnly
	case reconcile.DeletionsDisabled:
		return environments.MemorySyncDeletionsDisabled
	default:
		return environments.MemorySyncDeletionsEnabled
	}
}
