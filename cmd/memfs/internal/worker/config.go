package worker

import (
	"net/http"
	"time"

	"go.uber.org/zap"

	"memfs"
	"memfs/cmd/memfs/internal/supervise"
	"memfs/cmd/memfs/internal/worker/toolbox"
)

// Config is what the sessions of a worker have in common.
type Config struct {
	// BaseURL is the API's address.
	BaseURL string
	// Workdir is where tools run and skills are put, absolute.
	Workdir string
	// Root is the parent of mounts for which the session names no path; "" is
	// "memory" in Workdir.
	Root string
	// MaxIdle is how long a session may be idle until it is let go.
	MaxIdle time.Duration
	// NoMemory leaves stores alone, whether a session has some or not.
	NoMemory bool
	// Isolated: this process has a mount namespace of its own, and mounts are
	// to be seen in it alone.
	Isolated bool
	// Attach says how stores are attached; the worker sets Endpoint, Session
	// and Log.
	Attach memfs.Options
	// Tools says how tools run; the worker sets roots and skills.
	Tools toolbox.Options
	// Supervise gives the mounts of a session to who answers commands about
	// them.
	Supervise func(session string, mounts *memfs.Session) *supervise.Supervisor
	// Transport stands around the requests to the stores; nil is nothing.
	Transport func(http.RoundTripper) http.RoundTripper
	// Runtime is the directory of the control socket.
	Runtime string
	Log     *zap.Logger
}
