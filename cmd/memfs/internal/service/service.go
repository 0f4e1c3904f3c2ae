// Package service tells the service manager how this process does, with
// systemd's protocol (sd_notify(3)). Only a command does that: a library must
// not speak for the program that uses it.
package service

import (
	"context"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"go.uber.org/zap"
)

// refresh is the time between two statuses where no watchdog asks for more.
const refresh = time.Minute

// Manager is who started this process. It is nil where that is no service
// manager; its methods may be called all the same.
type Manager struct {
	log   *zap.Logger
	every time.Duration
	// watched: the manager ends this process when it does not hear of it.
	watched bool
	said    string
}

// Find returns the service manager that listens, as NOTIFY_SOCKET says.
func Find(getenv func(string) string, log *zap.Logger) *Manager {
	if getenv("NOTIFY_SOCKET") == "" {
		return nil
	}
	m := &Manager{log: log, every: refresh}
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn("the service manager's watchdog cannot be understood", zap.String("code", "watchdog"), zap.Error(err))
	}
	if err == nil && limit > 0 {
		m.watched, m.every = true, limit/2
	}
	return m
}

// Run says that the process is ready, and then how it does until ctx ends.
// A status that is never told is what the watchdog is for: it is asked for in
// this goroutine.
func (m *Manager) Run(ctx context.Context, status func() string) {
	if m == nil {
		return
	}
	m.tell(daemon.SdNotifyReady, status())
	tick := time.NewTicker(m.every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		state := ""
		if m.watched {
			state = daemon.SdNotifyWatchdog
		}
		m.tell(state, status())
	}
}

// Stopping says that the process ends, and why that takes its time.
func (m *Manager) Stopping(status string) {
	if m != nil {
		m.tell(daemon.SdNotifyStopping, status)
	}
}

// tell sends what is new.
func (m *Manager) tell(state, status string) {
	if status != m.said {
		state += "\nSTATUS=" + status
		m.said = status
	}
	if state == "" {
		return
	}
	if _, err := daemon.SdNotify(false, state); err != nil {
		m.log.Debug("the service manager could not be told", zap.Error(err))
	}
}
