package control

import (
	"encoding/json"
	"time"

	"memfs/cmd/memfs/internal/exitcode"
	"memfs/reconcile"
)

// Report is what one memfs process says of itself.
type Report struct {
	PID     int       `json:"pid"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	// Session is the API's session that a worker's process serves.
	Session string  `json:"session,omitempty"`
	Mounts  []Mount `json:"mounts"`
}

// Mount is one mounted store of a process.
type Mount struct {
	// Path is where it is mounted.
	Path string `json:"path"`
	// Status is the mount's own account of itself.
	Status json.RawMessage `json:"status"`
}

// SyncRequest asks for a pass now.
type SyncRequest struct {
	// Paths are mount paths; none means every mount of the process.
	Paths []string `json:"paths,omitempty"`
	// AllowDeletes lets the deletes go that the mass-delete guard holds.
	AllowDeletes bool `json:"allow_deletes,omitempty"`
}

// Synced is a mount after a pass that was asked for.
type Synced struct {
	Mount
	// Report is the pass's own; the status may be younger.
	Report reconcile.Report `json:"report"`
}

// syncAnswer tells of every mount also where the pass of one failed.
type syncAnswer struct {
	Mounts  []Synced `json:"mounts,omitempty"`
	Failure *failure `json:"failure,omitempty"`
}

// failure carries an error and its exit code to the other side.
type failure struct {
	Code  int    `json:"code"`
	Error string `json:"error"`
}

func failureOf(err error) failure {
	return failure{Code: exitcode.Of(err), Error: err.Error()}
}

func (f failure) err() error { return exitcode.Errorf(f.Code, "%s", f.Error) }
