package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"go.uber.org/zap"

	"memfs"
	"memfs/cmd/memfs/internal/exitcode"
	"memfs/cmd/memfs/internal/volume"
	"memfs/cmd/memfs/internal/worker/namespace"
	"memfs/fs"
	"memfs/fs/mountpoint"
	"memfs/store"
	"memfs/store/claude"
	"memfs/store/replica"
	"memfs/store/replica/disk"
)

// errNoToken fails a session whose stores nothing gives access to.
var errNoToken = errors.New("the work item carried no sessions token, so the session's memory stores cannot be mounted")

// attach mounts the stores of a session; nil where it has none, or where they
// are to be left alone.
func (s *serving) attach(ctx context.Context, session *anthropic.BetaManagedAgentsSession) (*memfs.Session, error) {
	if s.c.NoMemory {
		s.log.Debug("memory stores disabled for this item", zap.String("code", "no_memory"))
		return nil, nil
	}
	attachments, err := claude.Attachments(session)
	switch {
	case err != nil:
		return nil, s.failed(ctx, fault{err, "bad_session", "the session names a path that nothing may be mounted at: create the session anew"})
	case len(attachments) == 0:
		s.log.Debug("memory stores disabled for this item", zap.String("code", "no_memory"))
		return nil, nil
	case s.item.Token == "":
		err := fmt.Errorf("session %s: %w", s.item.SessionID, errNoToken)
		s.log.Error("memory stores cannot be mounted", zap.String("code", "no_sessions_token"), zap.Error(err), zap.String("remedy",
			"pass on the item's secret ("+varSecret+", or the item's JSON on standard input), or serve sessions without their memory with --memory=off"))
		s.hint()
		return nil, exitcode.With(exitcode.Unreachable, err)
	}
	stores, err := s.stores(attachments)
	if err != nil {
		return nil, s.failed(ctx, fault{err, "paths_collide", "give one of the stores another name and create the session anew"})
	}
	if err := s.checkLinks(stores); err != nil {
		return nil, s.failed(ctx, fault{err, "path_leads_away", "remove the link, or share the working directory with nobody who makes such"})
	}
	if err := s.cover(stores); err != nil {
		return nil, s.failed(ctx, explain(err))
	}
	o := s.c.Attach
	o.Endpoint, o.Session, o.Log, o.Sync.Log = claude.Endpoint(s.c.BaseURL), s.item.SessionID, s.log, s.log
	attached, err := memfs.Attach(ctx, o, stores)
	if err != nil {
		return nil, s.failed(ctx, explain(err))
	}
	for _, st := range stores {
		s.log.Info("memory store attached", zap.String("code", "attached"), zap.String("store", st.Info.ID), zap.String("path", st.Path), zap.Bool("read_only", st.Reader != nil))
	}
	return attached, nil
}

// stores says where each store is to be mounted, and through what it is
// reached.
func (s *serving) stores(attachments []claude.Attachment) ([]memfs.Store, error) {
	specs, infos := make([]volume.Spec, len(attachments)), make([]store.Info, len(attachments))
	for i, a := range attachments {
		specs[i] = volume.Spec{Store: a.StoreID, Path: a.MountPath, ReadOnly: a.ReadOnly}
		infos[i] = store.Info{ID: a.StoreID, Name: a.Name}
	}
	paths, err := volume.Place(cmp.Or(s.c.Root, filepath.Join(s.c.Workdir, "memory")), specs, infos)
	if err != nil {
		return nil, err
	}
	var transport http.RoundTripper = s.gate
	if s.c.Transport != nil {
		transport = s.c.Transport(transport)
	}
	api, err := claude.New(claude.Config{
		BaseURL: s.c.BaseURL, Credential: s.item.Token, HTTPClient: &http.Client{Transport: transport}, Log: s.log,
	})
	if err != nil {
		return nil, err
	}
	stores := make([]memfs.Store, len(infos))
	for i, info := range infos {
		stores[i] = memfs.Store{Info: info, Path: paths[i]}
		if specs[i].ReadOnly {
			stores[i].Reader = api.Reader(info.ID)
		} else {
			stores[i].Client = api.Store(info.ID)
		}
	}
	return stores, nil
}

// checkLinks refuses mount paths in the working directory from which links lead
// out of it: an agent can have left them there for a later session's mounts, which
// are made with the rights of this process.
func (s *serving) checkLinks(stores []memfs.Store) error {
	for _, st := range stores {
		if mountpoint.Inside(st.Path, s.c.Workdir) && !mountpoint.Stays(st.Path, s.c.Workdir) {
			return &memfs.StoreError{Store: st.Info.ID, Path: st.Path, Err: fmt.Errorf("the mount path %s leads out of the working directory", st.Path)}
		}
	}
	return nil
}

// cover keeps the mount points of an isolated session in its namespace.
func (s *serving) cover(stores []memfs.Store) error {
	if !s.c.Isolated {
		return nil
	}
	var parents []string
	for _, st := range stores {
		if parent := filepath.Dir(st.Path); !slices.Contains(parents, parent) {
			parents = append(parents, parent)
		}
	}
	for _, parent := range parents {
		if err := namespace.Cover(parent, s.c.Workdir, s.c.Attach.StateDir, s.c.Runtime); err != nil {
			return err
		}
	}
	return nil
}

// failed says why a session cannot have its stores, in the official worker's
// words and with what to do.
func (s *serving) failed(ctx context.Context, f fault) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	fields := []zap.Field{zap.String("code", f.code)}
	if st := new(memfs.StoreError); errors.As(f.err, &st) {
		fields = append(fields, zap.String("store", st.Store), zap.String("path", st.Path))
	}
	s.log.Error("memory store download failed", append(fields, zap.Error(f.err), zap.String("remedy", f.remedy))...)
	s.hint()
	return f.err
}

// hint tells what nobody else does: the API shows such a session as waiting.
func (s *serving) hint() {
	s.log.Warn("the session will sit idle, waiting for a tool call that nobody answers", zap.String("code", "session_idle"),
		zap.String("remedy", "mend what is named above, then send the session a user.interrupt event: that queues it again"))
}

// fault is a failed attach as it is logged.
type fault struct {
	err          error
	code, remedy string
}

func explain(err error) fault {
	var st *memfs.StoreError
	var taken *mountpoint.TakenError
	var parent *mountpoint.ParentError
	switch {
	case errors.As(err, &taken):
		return fault{fmt.Errorf("something already exists at the memory store's path: %s; it must not exist when the session starts: %w", taken.Path, err),
			"path_taken", "remove what stands there; where another session has it mounted, use --isolate"}
	case errors.As(err, &parent):
		return fault{fmt.Errorf("cannot create the memory store's folder: %s: %w; the worker host must make this mount path writable", parent.Path, err),
			"path_not_writable", "create the parent directory and give it to the worker's user"}
	case errors.Is(err, fs.ErrMounted) && errors.As(err, &st):
		return fault{fmt.Errorf("something already exists at the memory store's path: %s; it must not exist when the session starts: %w", st.Path, err),
			"path_mounted", "wait until the other session has ended, or use --isolate"}
	case errors.Is(err, namespace.ErrCover):
		return fault{err, "cannot_isolate", "serve this session without --isolate, or have the working and state directories elsewhere"}
	case errors.Is(err, replica.ErrInUse), errors.Is(err, disk.ErrLocked):
		return fault{err, "state_in_use", "another process of this host serves the same session: end it"}
	case errors.Is(err, store.ErrUnauthorized):
		return fault{err, "unauthorized", "the sessions token was refused: it may have expired, or belong to another session"}
	case exitcode.Of(err) == exitcode.HostNotReady:
		return fault{err, "host_not_ready", "memfs doctor says what this host lacks; --fuse=auto copies the stores where they cannot be mounted"}
	case exitcode.Of(err) == exitcode.Unreachable:
		return fault{err, "unreachable", "check the network and ANTHROPIC_BASE_URL"}
	default:
		return fault{err, "attach_failed", "see the error; memfs doctor looks at this host"}
	}
}
