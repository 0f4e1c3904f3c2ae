package claude

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/respjson"

	"memfs/store"
)

// memory checks and converts one memory of this store. A path that is not
// legal passes: it is shown, never mapped to a file (R12).
func (r *reader) memory(m anthropic.BetaManagedAgentsMemory, full bool) (store.Memory, error) {
	var sum store.SHA
	sum, err := store.ParseSHA(m.ContentSha256)
	switch {
	case err != nil:
	case checkID(m.ID) != nil:
		err = checkID(m.ID)
	case checkID(m.MemoryVersionID) != nil:
		err = checkID(m.MemoryVersionID)
	case m.MemoryStoreID != r.id:
		err = fmt.Errorf("it belongs to store %.80q", m.MemoryStoreID)
	case m.Path == "":
		err = errors.New("it has no path")
	default:
		err = checkSize(m.ContentSizeBytes, sum)
	}
	// What the SDK decodes are parts of the whole answer, which would stay in
	// memory with them.
	out := store.Memory{
		ID:        strings.Clone(m.ID),
		VersionID: strings.Clone(m.MemoryVersionID),
		Path:      keptPath(m.Path),
		Size:      m.ContentSizeBytes,
		SHA:       sum,
		CreatedAt: instant(m.CreatedAt),
		UpdatedAt: instant(m.UpdatedAt),
	}
	if err == nil && full {
		out.Content, err = content(m.Content, m.JSON.Content.Valid(), out.Size, sum)
	}
	if err != nil {
		return store.Memory{}, fmt.Errorf("%w: memory %.80q: %w", store.ErrProtocol, m.ID, err)
	}
	return out, nil
}

// listed takes a memory out of a listing's union. The union's own conversion
// decodes the JSON a second time, which is half the cost of a listing.
func listed(u anthropic.BetaManagedAgentsMemoryListItemUnion) anthropic.BetaManagedAgentsMemory {
	m := anthropic.BetaManagedAgentsMemory{
		ID:               u.ID,
		ContentSha256:    u.ContentSha256,
		ContentSizeBytes: u.ContentSizeBytes,
		CreatedAt:        u.CreatedAt,
		MemoryStoreID:    u.MemoryStoreID,
		MemoryVersionID:  u.MemoryVersionID,
		Path:             u.Path,
		UpdatedAt:        u.UpdatedAt,
		Content:          u.Content,
	}
	m.JSON.Content = u.JSON.Content
	return m
}

// version checks and converts one version of this store.
func (r *reader) version(v anthropic.BetaManagedAgentsMemoryVersion, full bool) (store.Version, error) {
	out := store.Version{
		ID:         strings.Clone(v.ID), // see memory
		MemoryID:   strings.Clone(v.MemoryID),
		Operation:  store.Operation(strings.Clone(string(v.Operation))),
		Path:       keptPath(v.Path),
		Size:       v.ContentSizeBytes,
		CreatedAt:  instant(v.CreatedAt),
		CreatedBy:  actor(v.CreatedBy),
		RedactedAt: instant(v.RedactedAt),
	}
	var err error
	switch {
	case checkID(v.ID) != nil:
		err = checkID(v.ID)
	case checkID(v.MemoryID) != nil:
		err = checkID(v.MemoryID)
	case v.MemoryStoreID != r.id:
		err = fmt.Errorf("it belongs to store %.80q", v.MemoryStoreID)
	case v.CreatedAt.IsZero():
		err = errors.New("it has no time") // R5's cursor is made of these
	case out.Redacted():
		out.Path, out.Size = "", 0
	case v.Path == "":
		err = errors.New("it has no path and is not redacted")
	case out.Operation != store.Deleted:
		out.SHA, err = store.ParseSHA(v.ContentSha256)
		if err == nil {
			err = checkSize(out.Size, out.SHA)
		}
		if err == nil && full {
			out.Content, err = content(v.Content, v.JSON.Content.Valid(), out.Size, out.SHA)
		}
	}
	if err != nil {
		return store.Version{}, fmt.Errorf("%w: version %.80q: %w", store.ErrProtocol, v.ID, err)
	}
	return out, nil
}

// keptPath copies a path. Of one that is too long for any use the beginning is
// kept, which is too long still.
func keptPath(path string) string { return strings.Clone(path[:min(len(path), store.MaxListedPath)]) }

// checkSize checks a content's size against its hash as far as one can without
// the content. No answer could bring one over basicAnswer.
func checkSize(size int64, sum store.SHA) error {
	switch {
	case sum.IsZero():
		return errors.New("its hash is all zeros")
	case size < 0 || size > basicAnswer:
		return fmt.Errorf("its size is %d", size)
	case (size == 0) != (sum == store.Hash(nil)):
		return fmt.Errorf("its size is %d and its hash is not of such a text", size)
	}
	return nil
}

// What 64 bits of nanoseconds can say, which is what files have and the journal
// keeps.
var (
	firstInstant = time.Unix(0, math.MinInt64)
	lastInstant  = time.Unix(0, math.MaxInt64)
)

// instant is a time of the API, or the nearest that a file can have. The zero
// time stays: it stands for none.
func instant(t time.Time) time.Time {
	switch {
	case t.IsZero():
		return t
	case t.Before(firstInstant):
		return firstInstant
	case t.After(lastInstant):
		return lastInstant
	}
	return t
}

// content checks a full view's content against its size and hash. A null
// content stands for an empty one, and for nothing else.
func content(text string, present bool, size int64, sum store.SHA) ([]byte, error) {
	body := []byte(text)
	switch {
	case !present && size > 0:
		return nil, fmt.Errorf("content is missing, %d bytes expected", size)
	case int64(len(body)) != size:
		return nil, fmt.Errorf("content is %d bytes, %d expected", len(body), size)
	case store.Hash(body) != sum:
		return nil, errors.New("content does not match its hash")
	}
	return body, nil
}

// toInfo checks and converts a store.
func toInfo(s anthropic.BetaManagedAgentsMemoryStore) (store.Info, error) {
	if err := checkID(s.ID); err != nil {
		return store.Info{}, fmt.Errorf("%w: store: %w", store.ErrProtocol, err)
	}
	return store.Info{
		ID:          s.ID,
		Name:        s.Name,
		Description: s.Description,
		Metadata:    s.Metadata,
		CreatedAt:   instant(s.CreatedAt),
		UpdatedAt:   instant(s.UpdatedAt),
		ArchivedAt:  s.ArchivedAt,
	}, nil
}

// actor flattens the API's kinds of authors; each has one id.
func actor(a anthropic.BetaManagedAgentsActorUnion) store.Actor {
	id := a.SessionID
	for _, other := range []string{a.APIKeyID, a.UserID, a.ServiceAccountID} {
		if id == "" {
			id = other
		}
	}
	return store.Actor{Type: a.Type, ID: id}
}

// checkID refuses ids that could not stand in a request's path as one segment.
func checkID(id string) error {
	if id == "" || len(id) > 256 || strings.Trim(id, ".") == "" {
		return fmt.Errorf("unusable id %.40q", id)
	}
	for _, c := range []byte(id) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("/\\;?#%", c) >= 0 {
			return fmt.Errorf("unusable id %.40q", id)
		}
	}
	return nil
}

// sameID checks that an answer is about what was asked for.
func sameID(asked, got string) error {
	if got != asked {
		return fmt.Errorf("%w: the answer is about %.80q", store.ErrProtocol, got)
	}
	return nil
}

// checkPage checks that an answer is a page at all, and that following its
// cursor comes to an end.
func checkPage(data respjson.Field, asked, next string) error {
	switch {
	case !strings.HasPrefix(data.Raw(), "["):
		return fmt.Errorf("%w: not a listing", store.ErrProtocol)
	case next != "" && next == asked:
		return fmt.Errorf("%w: the cursor does not move", store.ErrProtocol)
	}
	return nil
}

func isContext(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
