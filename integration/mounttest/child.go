package mounttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"memfs"
	"memfs/reconcile"
	"memfs/store"
	"memfs/store/claude"
	"memfs/store/replica"
)

// childEnv says that a process is to serve a mount.
const childEnv = "MEMFS_MOUNTTEST_SERVER"

// Main runs a package's tests, or serves a mount where Start has started this
// process for it. It does not return.
func Main(m *testing.M) {
	if os.Getenv(childEnv) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// config is the first line that a server reads.
type config struct {
	Options
	Path, State, Stores string
	Store               store.Info
}

// order is each further line, and reply the line that answers it.
type order struct{ Do string }

const (
	doSync   = "sync"
	doStatus = "status"
	doDetach = "detach"
)

type reply struct {
	Err     string             `json:",omitempty"`
	Reports []reconcile.Report `json:",omitempty"`
	Status  []replica.Status   `json:",omitempty"`
	Result  memfs.Result
}

// never is an interval at which no test sees a timed pass.
const never = time.Hour

// serve attaches and does as it is told, until it is to detach or its parent
// is gone.
func serve(in io.Reader, out io.Writer) (err error) {
	orders, replies := json.NewDecoder(in), json.NewEncoder(out)
	var c config
	if err := orders.Decode(&c); err != nil {
		return err
	}
	api, end, err := openAPI(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	session, err := attach(c, api)
	if err != nil {
		return replies.Encode(reply{Err: err.Error()})
	}
	defer func() {
		_, ended := session.Detach(context.Background())
		err = errors.Join(err, ended)
	}()
	for answer := (reply{}); ; {
		if err := replies.Encode(answer); err != nil {
			return err
		}
		var o order
		switch err := orders.Decode(&o); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		answer = obey(session, o)
		if o.Do == doDetach {
			return replies.Encode(answer)
		}
	}
}

func attach(c config, api *claude.API) (*memfs.Session, error) {
	log := zap.New(zapcore.NewCore(zapcore.NewConsoleEncoder(zap.NewDevelopmentEncoderConfig()), zapcore.Lock(os.Stderr), zap.InfoLevel))
	st := memfs.Store{Info: c.Store, Path: c.Path}
	if c.ReadOnly {
		st.Reader = api.Reader(c.Store.ID)
	} else {
		st.Client = api.Store(c.Store.ID)
	}
	sync := reconcile.Options{Interval: c.Interval, NoHydrate: c.NoHydrate, AllowMassDelete: c.AllowMassDelete, MaxMemories: c.MaxMemories, Log: log}
	if sync.Interval == 0 {
		sync.Interval = never
	}
	return memfs.Attach(context.Background(), memfs.Options{
		StateDir: c.State, Endpoint: c.URL, Sync: sync, Strict: c.Strict, MaxMemories: c.MaxMemories, AllowOther: c.AllowOther, Log: log,
	}, []memfs.Store{st})
}

func obey(session *memfs.Session, o order) (r reply) {
	var err error
	switch o.Do {
	case doSync:
		r.Reports, err = session.Sync(context.Background(), memfs.SyncOptions{})
	case doStatus:
		for _, status := range session.Status() {
			r.Status = append(r.Status, status.Status)
			if status.Panics > 0 {
				err = fmt.Errorf("%d file operations panicked", status.Panics)
			}
		}
	case doDetach:
		r.Result, err = session.Detach(context.Background())
	default:
		err = fmt.Errorf("unknown order %q", o.Do)
	}
	if err != nil {
		r.Err = err.Error()
	}
	return r
}
