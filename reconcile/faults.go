package reconcile

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"memfs/store"
	"memfs/store/replica"
)

// kindOf names an error's kind: what is of one kind is one fault.
func kindOf(err error) string {
	var limited *store.RateLimitedError
	var unavailable *store.UnavailableError
	switch {
	case err == nil:
		return ""
	case errors.Is(err, replica.ErrNoSpace), errors.Is(err, replica.ErrBroken):
		return "journal"
	case errors.Is(err, store.ErrUnauthorized):
		return "unauthorized"
	case errors.Is(err, store.ErrNotFound):
		return "store_gone"
	case errors.As(err, &limited):
		return "rate_limited"
	case errors.As(err, &unavailable) && unavailable.Status != 0:
		return "server_error"
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return "unreachable"
	case errors.Is(err, store.ErrProtocol):
		return "protocol"
	case errors.Is(err, store.ErrConflict):
		return "busy"
	default:
		return "failed"
	}
}

// outcome says how a pass ended: a fault when it begins or changes, and its end
// with the number of passes that it cost.
func (t *teller) outcome(err error, report Report) {
	kind := kindOf(err)
	t.mu.Lock()
	was, count, since := t.fault, t.count, t.since
	if kind != was {
		t.fault, t.count, t.since = kind, 0, time.Now()
	}
	if kind != "" {
		t.count++
	}
	t.mu.Unlock()
	if was != "" && kind != was {
		t.log.Info("memory sync: the fault is over", zap.String("code", was), zap.Int("passes", count),
			zap.Duration("lasted", time.Since(since)))
	}
	if kind != "" && kind != was {
		t.begins(kind, err)
	}
	if kind == "" {
		t.unsay("send", "fetch", "journal")
	}
	if kind == "" && report.Pushed+report.Deleted+report.Pulled > 0 {
		t.log.Info("memory sync", zap.String("code", "synced"), zap.Int("pushed", report.Pushed), zap.Int("pulled", report.Pulled),
			zap.Int("deleted", report.Deleted), zap.Int("conflicts", report.Conflicts), zap.Int("requests", report.Requests))
	}
}

func (t *teller) begins(kind string, err error) {
	fields := []zap.Field{zap.String("code", kind), zap.Error(err)}
	switch kind {
	case "journal":
		t.journalFailed(err)
	case "unauthorized":
		t.log.Error("memory sync failed: the credential was refused; edits stay in the journal",
			append(fields, zap.String("remedy", "give memfs a credential that may read and write this store"))...)
	case "store_gone":
		t.log.Error("memory sync failed: the store does not exist any more; edits stay in the journal",
			append(fields, zap.String("remedy", "memfs recover export saves them"))...)
	default:
		t.log.Warn("memory sync failed", append(fields, zap.String("remedy", "none needed: tried again, later and later"))...)
	}
}
