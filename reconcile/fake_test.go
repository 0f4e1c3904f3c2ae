package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"memfs/store"
)

// fake is a small store in memory that keeps to the API's rules, with hooks
// before and after each request for races, faults and lost answers.
type fake struct {
	mu       sync.Mutex
	memories map[string]store.Memory
	versions []store.Version // oldest first
	seq      int
	created  time.Time
	skew     time.Duration // the store's clock against the host's
	still    bool          // its clock does not move by itself
	page     int           // items a page; 0 is the API's
	max      int           // memories it takes; 0 is no limit
	archived bool
	lacks    string // a path that listings leave out
	calls    []string
	// before may fail a request, after lose its answer; call is "op argument".
	before, after func(call string) error
}

func newFake() *fake {
	f := &fake{memories: map[string]store.Memory{}}
	f.created = f.now()
	return f
}

// now is the store's clock. Each change takes it a millisecond further, so that
// versions have different times although the test's time stands still.
func (f *fake) now() time.Time {
	at := time.Now().Add(f.skew)
	if !f.still {
		at = at.Add(time.Duration(f.seq) * time.Millisecond)
	}
	return at
}

// called takes the calls made since it was last called.
func (f *fake) called() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = nil
	return calls
}

// changes are those of the calls that change the store.
func changes(calls []string) []string {
	return slices.DeleteFunc(calls, func(c string) bool {
		op, _, _ := strings.Cut(c, " ")
		return op != "create" && op != "update" && op != "delete"
	})
}

// serve runs a request between its hooks.
func serve[T any](ctx context.Context, f *fake, call string, do func() (T, error)) (out T, err error) {
	f.mu.Lock()
	f.calls = append(f.calls, call)
	before, after := f.before, f.after
	f.mu.Unlock()
	var none T
	if before != nil {
		if err := before(call); err != nil {
			return none, err
		}
	}
	if ctx.Err() != nil {
		return none, &store.UnavailableError{Cause: ctx.Err()}
	}
	f.mu.Lock()
	out, err = do()
	f.mu.Unlock()
	if after != nil && err == nil {
		if lost := after(call); lost != nil {
			return none, lost
		}
	}
	return out, err
}

func (f *fake) Info(ctx context.Context) (store.Info, error) {
	return serve(ctx, f, "info", func() (store.Info, error) { return store.Info{ID: "memstore_1", CreatedAt: f.created}, nil })
}

func (f *fake) List(ctx context.Context, q store.ListQuery) (store.ListPage, error) {
	call := fmt.Sprintf("list %s full=%v children=%v", q.Prefix, q.Full, q.Children)
	return serve(ctx, f, call, func() (store.ListPage, error) {
		var all []store.Memory
		prefixes := map[string]bool{}
		for _, m := range f.memories {
			rest, under := strings.CutPrefix(m.Path, "/"+strings.TrimPrefix(q.Prefix, "/"))
			if !under || m.Path == f.lacks {
				continue
			}
			if at := strings.IndexByte(rest, '/'); q.Children && at >= 0 {
				prefixes[m.Path[:len(m.Path)-len(rest)+at+1]] = true
				continue
			}
			if !q.Full {
				m.Content = nil
			}
			all = append(all, m)
		}
		slices.SortFunc(all, func(a, b store.Memory) int { return strings.Compare(a.Path, b.Path) })
		at := slices.IndexFunc(all, func(m store.Memory) bool { return m.Path > q.Page })
		if at < 0 {
			at = len(all)
		}
		size := cmpOr(f.page, map[bool]int{true: store.MaxFullPage, false: store.MaxBasicPage}[q.Full])
		var page store.ListPage
		page.Memories = all[at:min(at+size, len(all))]
		if at+size < len(all) {
			page.Next = all[at+size-1].Path
		} else {
			for p := range prefixes {
				page.Prefixes = append(page.Prefixes, p)
			}
		}
		return page, nil
	})
}

func cmpOr(a, b int) int {
	if a != 0 {
		return a
	}
	return b
}

func (f *fake) Get(ctx context.Context, id string) (store.Memory, error) {
	return serve(ctx, f, "get "+id, func() (store.Memory, error) {
		m, there := f.memories[id]
		if !there {
			return m, fmt.Errorf("memory: %w", store.ErrNotFound)
		}
		return m, nil
	})
}

func (f *fake) Versions(ctx context.Context, q store.VersionQuery) (store.VersionPage, error) {
	call := fmt.Sprintf("versions limit=%d page=%s", q.Limit, q.Page)
	if q.MemoryID != "" {
		call = "history " + q.MemoryID
	}
	return serve(ctx, f, call, func() (store.VersionPage, error) {
		all := slices.Clone(f.versions)
		slices.SortStableFunc(all, func(a, b store.Version) int {
			if c := b.CreatedAt.Compare(a.CreatedAt); c != 0 {
				return c
			}
			return strings.Compare(b.ID, a.ID)
		})
		all = slices.DeleteFunc(all, func(v store.Version) bool {
			return v.CreatedAt.Before(q.Since) || q.MemoryID != "" && v.MemoryID != q.MemoryID
		})
		size := cmpOr(q.Limit, cmpOr(f.page, store.MaxBasicPage))
		if q.Full {
			size = min(size, store.MaxFullPage)
		}
		at := 0
		if q.Page != "" {
			at = slices.IndexFunc(all, func(v store.Version) bool { return v.ID == q.Page }) + 1
		}
		page := store.VersionPage{Versions: all[at:min(at+size, len(all))]}
		if at+size < len(all) {
			page.Next = all[at+size-1].ID
		}
		return page, nil
	})
}

func (f *fake) Version(ctx context.Context, id string) (store.Version, error) {
	return serve(ctx, f, "version "+id, func() (store.Version, error) {
		for _, v := range f.versions {
			if v.ID == id {
				return v, nil
			}
		}
		return store.Version{}, fmt.Errorf("version: %w", store.ErrNotFound)
	})
}

func (f *fake) Create(ctx context.Context, path string, content []byte) (store.Memory, error) {
	return serve(ctx, f, "create "+path, func() (store.Memory, error) {
		if f.archived {
			return store.Memory{}, store.ErrArchived
		}
		if f.max > 0 && len(f.memories) >= f.max {
			return store.Memory{}, fmt.Errorf("%w: too many", store.ErrInvalid)
		}
		if err := f.admit("", path, content); err != nil {
			return store.Memory{}, err
		}
		return f.write(store.Memory{}, path, content, store.Created), nil
	})
}

func (f *fake) Update(ctx context.Context, id string, u store.Update) (store.Memory, error) {
	return serve(ctx, f, "update "+id, func() (store.Memory, error) {
		m, there := f.memories[id]
		if !there {
			return m, fmt.Errorf("memory: %w", store.ErrNotFound)
		}
		if f.archived {
			return m, store.ErrArchived
		}
		path, content := m.Path, m.Content
		if u.Path != nil {
			path = *u.Path
		}
		if u.Content != nil {
			content = *u.Content
		}
		if path == m.Path && store.Hash(content) == m.SHA {
			return m, nil
		}
		if m.SHA != u.Expect {
			return m, store.ErrPrecondition
		}
		if err := f.admit(id, path, content); err != nil {
			return m, err
		}
		return f.write(m, path, content, store.Modified), nil
	})
}

func (f *fake) Delete(ctx context.Context, id string, expect store.SHA) error {
	_, err := serve(ctx, f, "delete "+id, func() (store.Memory, error) {
		m, there := f.memories[id]
		switch {
		case !there:
			return m, fmt.Errorf("memory: %w", store.ErrNotFound)
		case m.SHA != expect:
			return m, store.ErrPrecondition
		}
		f.remove(id)
		return m, nil
	})
	return err
}

func (f *fake) admit(id, path string, content []byte) error {
	if err := store.CheckPath(path); err != nil {
		return fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	if err := store.CheckContent(content); err != nil {
		return fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	if strings.Contains(string(content), "FORBIDDEN") {
		return fmt.Errorf("%w: content", store.ErrInvalid)
	}
	for other, m := range f.memories {
		if other != id && touches(m.Path, path) {
			return &store.PathConflictError{ID: other, Path: m.Path}
		}
	}
	return nil
}

func (f *fake) write(m store.Memory, path string, content []byte, op store.Operation) store.Memory {
	f.seq++
	if op == store.Created {
		m = store.Memory{ID: fmt.Sprintf("mem_%d", f.seq), CreatedAt: f.now()}
	}
	m.Path, m.Content, m.SHA, m.Size = path, slices.Clone(content), store.Hash(content), int64(len(content))
	if m.Content == nil {
		m.Content = []byte{}
	}
	m.VersionID, m.UpdatedAt = fmt.Sprintf("memver_%06d", f.seq), f.now()
	f.memories[m.ID] = m
	f.versions = append(f.versions, store.Version{ID: m.VersionID, MemoryID: m.ID, Operation: op, Path: path, Size: m.Size,
		SHA: m.SHA, Content: m.Content, CreatedAt: m.UpdatedAt})
	return m
}

func (f *fake) remove(id string) {
	f.seq++
	m := f.memories[id]
	delete(f.memories, id)
	f.versions = append(f.versions, store.Version{ID: fmt.Sprintf("memver_%06d", f.seq), MemoryID: id,
		Operation: store.Deleted, Path: m.Path, CreatedAt: f.now()})
}

// What somebody else does to the store; it is in no list of calls.

func (f *fake) put(path, text string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.memories {
		if m.Path == path {
			return f.write(m, path, []byte(text), store.Modified).ID
		}
	}
	if err := f.admit("", path, []byte(text)); err != nil {
		panic(err)
	}
	return f.write(store.Memory{}, path, []byte(text), store.Created).ID
}

// redact redacts every version that has the text.
func (f *fake) redact(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, v := range f.versions {
		if string(v.Content) == text && f.memories[v.MemoryID].VersionID != v.ID {
			v.Path, v.Content, v.SHA, v.Size, v.RedactedAt = "", nil, store.SHA{}, 0, f.now()
			f.versions[i] = v
		}
	}
}

func (f *fake) move(from, to string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.memories {
		if m.Path == from {
			f.write(m, to, m.Content, store.Modified)
			return
		}
	}
	panic("no " + from)
}

func (f *fake) drop(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, m := range f.memories {
		if m.Path == path {
			f.remove(id)
			return
		}
	}
	panic("no " + path)
}

// texts are the memories, path to text.
func (f *fake) texts() map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := map[string]string{}
	for _, m := range f.memories {
		all[m.Path] = string(m.Content)
	}
	return all
}

func (f *fake) id(path string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, m := range f.memories {
		if m.Path == path {
			return id
		}
	}
	return ""
}

// hook sets what happens before and after requests.
func (f *fake) hook(before, after func(call string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before, f.after = before, after
}

// once fails or loses the first call that begins with prefix.
func once(prefix string, err error) func(string) error {
	var mu sync.Mutex
	done := false
	return func(call string) error {
		mu.Lock()
		defer mu.Unlock()
		if done || !strings.HasPrefix(call, prefix) {
			return nil
		}
		done = true
		return err
	}
}

var errNoAnswer = &store.UnavailableError{Cause: errors.New("connection reset")}
