package reconcile

import (
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"memfs/store"
	"memfs/store/replica"
)

// teller writes the log. Each line carries a code, the store, the path and,
// where somebody can do something, the remedy. What is the same is said once;
// a fault that lasts is one line, and a count when it is over. The messages
// begin as the official worker's do, so that people's alerts match.
type teller struct {
	log *zap.Logger

	mu   sync.Mutex
	said map[string]string
	// fault is the present reason why passes fail, and how often it did.
	fault string
	count int
	since time.Time
}

func newTeller(log *zap.Logger, storeID string) *teller {
	return &teller{log: log.With(zap.String("store", storeID)), said: map[string]string{}}
}

// massDelete is the subject of what is said of held deletes.
const massDelete = "mass delete"

// maxSaid bounds what is remembered as said; beyond it things may be said twice.
const maxSaid = 10_000

// first reports whether something is said of a subject for the first time, or
// after something else was.
func (t *teller) first(subject, what string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if said, known := t.said[subject]; known && said == what {
		return false
	}
	if len(t.said) >= maxSaid {
		clear(t.said)
	}
	t.said[subject] = what
	return true
}

// unsay lets what was said of a subject be said again.
func (t *teller) unsay(subjects ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range subjects {
		delete(t.said, s)
	}
}

// note logs what a plan has to tell. conflict is the entry that keeps the
// losing text; "" where none was lost.
func (t *teller) note(n Note, conflict string) {
	fields := []zap.Field{zap.String("path", n.Path)}
	if n.To != "" && n.To != n.Path {
		fields = append(fields, zap.String("remote_path", n.To))
	}
	if conflict != "" {
		fields = append(fields, zap.String("kept", conflict),
			zap.String("remedy", "memfs conflicts show "+conflict))
	}
	shas := append(fields, sha("base_sha256", n.Base), sha("local_sha256", n.Local), sha("remote_sha256", n.Remote))
	switch n.Kind {
	case Conflict:
		t.log.Warn("memory changed both locally and remotely; keeping the remote version", code("conflict", shas)...)
	case Restored:
		t.log.Warn("memory deleted locally but changed remotely; restoring the remote version", code("restored", fields)...)
	case Recreated:
		t.log.Info("memory deleted remotely but edited locally; re-creating it from the file", code("recreated", fields)...)
	case KeptReadOnly:
		t.log.Warn("memory deleted remotely but edited locally; keeping the file, which a read-only store cannot push",
			code("kept_read_only", fields)...)
	case KeptLocal:
		t.log.Warn("memory deleted remotely but edited locally; keeping the file, which is local only by its name",
			code("kept_local", fields)...)
	case RenameUndone:
		t.log.Warn("memory renamed locally, but the store has another memory or path there; keeping the remote path",
			code("rename_undone", fields)...)
	case PathLost:
		t.log.Warn("file and directory of one name, one local and one remote; keeping the remote one", code("path_lost", shas)...)
	case StrayKept:
		t.log.Warn("text written to a file that a remote change had replaced; keeping the remote version", code("stray", shas)...)
	case WouldDelete:
		if t.first("would delete "+n.ID, n.Base.String()) {
			t.log.Info("log-only: sync would delete this memory on the server", code("would_delete", fields)...)
		}
	case MassDelete:
		if !t.first(massDelete, "") {
			return
		}
		t.log.Warn("delete cap reached: deletes held by the mass-delete guard", zap.String("code", "mass_delete"),
			zap.Int("held", n.Count), zap.Int("memories", n.Of),
			zap.String("remedy", "memfs sync --allow-deletes sends them; put the files back to keep the memories"))
	}
}

func code(code string, fields []zap.Field) []zap.Field {
	return append([]zap.Field{zap.String("code", code)}, fields...)
}

func sha(key string, h store.SHA) zap.Field {
	if h.IsZero() {
		return zap.Skip()
	}
	return zap.Stringer(key, h)
}

// rejected says that the store will not take a file.
func (t *teller) rejected(a Action, reason string) {
	if !t.first("rejected "+a.Local, a.SHA.String()) {
		return
	}
	t.log.Warn("the server rejected this memory file, so it stays un-synced until its content changes",
		zap.String("code", "refused"), zap.String("path", a.Local), sha("local_sha256", a.SHA), zap.String("reason", reason),
		zap.String("remedy", "change the file; it stays in the mount as it is"))
}

func (t *teller) failedSave(h Held) {
	if t.first("failed save "+h.Path, strconv.FormatUint(h.Gen, 10)) {
		t.log.Warn("failed to upload memory: its last write could not be kept whole", zap.String("code", "held"),
			zap.String("path", h.Path), zap.String("reason", h.Reason),
			zap.String("remedy", "save the file again, with at most 102,400 bytes and room in the state directory"))
	}
}

// taken says that a file waits for something that does not pass by itself.
func (t *teller) taken(h Held) {
	if t.first("taken "+h.Path, "") {
		t.log.Warn("failed to upload memory: "+h.Reason, zap.String("code", "path_taken"), zap.String("path", h.Path),
			zap.String("remedy", "rename the file"))
	}
}

// sendFailed says that changes do not go out; they are tried again. It names
// the first path only: the rest is the same fault.
func (t *teller) sendFailed(a Action, err error) {
	kind := kindOf(err)
	if kind == "journal" {
		t.journalFailed(err)
		return
	}
	if !t.first("send", kind) {
		return
	}
	message := "failed to upload memory"
	if a.Op == replica.OpDelete {
		message = "failed to delete memory"
	}
	t.log.Warn(message, zap.String("code", "send_failed"), zap.String("path", a.Local), zap.Error(err),
		zap.String("remedy", "none needed: tried again by the next pass"))
}

func (t *teller) fetchFailed(path string, err error) {
	if t.first("fetch", kindOf(err)) {
		t.log.Warn("failed to fetch memory content", zap.String("code", "fetch_failed"), zap.String("path", path), zap.Error(err),
			zap.String("remedy", "none needed: tried again by the next pass"))
	}
}

func (t *teller) redacted(v store.Version) {
	t.log.Info("memory version redacted in the store; its text is purged here", zap.String("code", "redacted"),
		zap.String("memory", v.MemoryID), zap.String("version", v.ID))
}

func (t *teller) deleted(a Action) {
	t.log.Info("propagated local deletion", zap.String("code", "deleted"), zap.String("path", a.Local))
}

func (t *teller) journalFailed(err error) {
	if t.first("journal", "") {
		t.log.Error("memory sync failed: the journal cannot be written", zap.String("code", "journal"), zap.Error(err),
			zap.String("remedy", "make room in the state directory"))
	}
}

func (t *teller) full(count int) {
	if t.first("full", "") {
		t.log.Warn("failed to upload memory: the store is full", zap.String("code", "store_full"), zap.Int("memories", count),
			zap.String("remedy", "delete memories; what waits then goes out by itself"))
	}
}

func (t *teller) archived() {
	if t.first("archived", "") {
		t.log.Error("failed to upload memory: the store is archived, so only deletes still go",
			zap.String("code", "store_archived"), zap.String("remedy", "edits stay in the journal; memfs recover export saves them"))
	}
}

func (t *teller) markerBad(path string) {
	if t.first("marker", "") {
		t.log.Warn("the memory store folder's marker is missing or doesn't match; leaving the memory store folder as found and not syncing",
			zap.String("code", "marker"), zap.String("path", path+"/"+store.MarkerName), zap.String("remedy", "memfs repair "+path))
	}
}

func (t *teller) markerGood() { t.unsay("marker") }

// hidden says that some memories cannot be shown.
func (t *teller) hidden(count int) {
	if count > 0 && t.first("hidden", strconv.Itoa(count)) {
		t.log.Warn("the server listed memories whose paths cannot be shown as files, or the reserved marker path; skipping",
			zap.String("code", "hidden"), zap.Int("memories", count))
	}
}
