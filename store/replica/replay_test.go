package replica

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"memfs/store"
)

// cutOff marks a file in a dump that a kill would give its text back.
const cutOff = "(cut off) "

// dump is everything of a replica that must survive a kill, as text.
func (w *world) dump() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var b strings.Builder
	var walk func(n *node)
	walk = func(n *node) {
		fmt.Fprintf(&b, "%s ino=%d dir=%t made=%t mode=%o times=%d,%d,%d", n.path(), n.ino, n.dir, n.made && n.dir, n.mode, n.mtime, n.ctime, n.btime)
		if !n.dir {
			c := n.content
			emptied := n.emptied && n.before == nil
			if n.before != nil {
				c = *n.before
				b.WriteString(cutOff)
			}
			text := c.buf
			if text == nil && c.size > 0 {
				text = []byte(w.texts[c.sha])
				if kept, err := w.objects.Get(c.sha); err == nil {
					text = kept
				}
			}
			fmt.Fprintf(&b, " memory=%q text=%q failed=%t emptied=%t", n.memory, text, n.failed, emptied && c.size == 0)
		}
		b.WriteByte('\n')
		for _, child := range n.entries {
			walk(child)
		}
	}
	walk(w.tree.root)
	var ids []string
	for id := range w.tree.bases {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		base := w.tree.bases[id]
		fmt.Fprintf(&b, "base %s %s %s carrier=%v\n", id, base.Path, base.SHA, base.carrier != nil && base.carrier.parent != nil)
		if base.verdict != Unjudged {
			fmt.Fprintf(&b, "verdict %d\n", base.verdict)
		}
	}
	for _, d := range w.tree.counted {
		fmt.Fprintf(&b, "counted %s %d\n", d.ID, d.Had)
	}
	return b.String()
}

// wanted is what a pass would be told, without the times that a replay may
// round.
func wanted(s Snapshot) string {
	var b strings.Builder
	file := func(f *File) string {
		if f == nil {
			return "-"
		}
		return fmt.Sprintf("%s %s %q failed=%t", f.Path, f.SHA, f.MemoryID, f.Failed)
	}
	for _, m := range s.Memories {
		fmt.Fprintf(&b, "memory %s %s at=[%s] carrier=[%s]\n", m.Base.ID, m.Base.Path, file(m.At), file(m.Carrier))
	}
	for _, f := range s.Files {
		fmt.Fprintf(&b, "file %s\n", file(&f))
	}
	for _, send := range s.Sends {
		fmt.Fprintf(&b, "send %d %d %s %s\n", send.Seq, send.Op, send.ID, send.Path)
	}
	for _, stray := range s.Strays {
		fmt.Fprintf(&b, "stray %s %s %q\n", stray.Path, stray.SHA, stray.MemoryID)
	}
	fmt.Fprintf(&b, "marker=%t bases=%d\n", s.MarkerOK, s.BaseCount)
	return b.String()
}

// TestR16_ReplayIsTheStateThatWas drives a replica with random calls, remote
// changes, sends and checkpoints, kills it at random, and compares everything.
func TestR16_ReplayIsTheStateThatWas(t *testing.T) {
	top := memoryDir(t)
	count := 0
	rapid.Check(t, func(rt *rapid.T) {
		count++
		w := newWorldIn(t, filepath.Join(top, fmt.Sprint(count)))
		defer func() { require.NoError(t, w.Remove()) }()
		m := &mover{rt: rt, w: w}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			m.step()
			m.checkSums()
		}
	})
}

func newWorldIn(t *testing.T, dir string) *world {
	w := &world{t: t, clock: newClock(), texts: map[store.SHA]string{}}
	require.NoError(t, os.MkdirAll(dir, 0o700))
	w.o = Options{Dir: dir, Store: store.Info{ID: "memstore_test"}, Endpoint: "e", MountPath: "/m", Now: w.clock.now,
		Fetch: func(_ context.Context, _, _ string, want store.SHA) ([]byte, error) {
			return []byte(w.texts[want]), nil
		}}
	w.open()
	return w
}

// mover makes random moves over a small alphabet of names.
type mover struct {
	rt   *rapid.T
	w    *world
	next int
	held []Ino // files that somebody has open, with or without a name
}

var alphabet = []string{"a", "b", "c~", ".git"}

func (m *mover) name() string { return rapid.SampledFrom(alphabet).Draw(m.rt, "name") }

// seen is a name in a directory that the kernel has looked up.
func (m *mover) seen() (Ino, string) {
	dir, name := m.dir(), m.name()
	m.w.see(dir, name)
	return dir, name
}

func (m *mover) dir() Ino {
	dirs := []Ino{Root}
	m.w.mu.RLock()
	for _, n := range m.w.tree.nodes {
		if n.dir && n.linked() && !n.isRoot() {
			dirs = append(dirs, n.ino)
		}
	}
	m.w.mu.RUnlock()
	slices.Sort(dirs)
	return rapid.SampledFrom(dirs).Draw(m.rt, "dir")
}

func (m *mover) anyFile() (Ino, bool) {
	var files []Ino
	m.w.mu.RLock()
	m.w.tree.root.files(func(n *node) {
		if !m.w.tree.isMarker(n) {
			files = append(files, n.ino)
		}
	})
	m.w.mu.RUnlock()
	if len(files) == 0 {
		return 0, false
	}
	slices.Sort(files)
	return rapid.SampledFrom(files).Draw(m.rt, "file"), true
}

func (m *mover) text() string {
	return rapid.SampledFrom([]string{"x", "some text", "a much longer text than the others"}).Draw(m.rt, "text")
}

func (m *mover) step() {
	w, ctx := m.w, context.Background()
	switch rapid.IntRange(0, 16).Draw(m.rt, "op") {
	case 0, 1:
		if a, err := w.Create(m.dir(), m.name(), 0o644, 1, 2); err == nil {
			w.Forget(a.Ino, 1)
		}
	case 2:
		if a, err := w.Mkdir(m.dir(), m.name(), 0o755, 1, 2); err == nil {
			w.Forget(a.Ino, 1)
		}
	case 3, 4:
		if ino, ok := m.anyFile(); ok {
			_, err := w.Write(ctx, ino, []byte(m.text()), rapid.Int64Range(0, 20).Draw(m.rt, "off"))
			require.NoError(w.t, err)
		}
	case 5:
		if ino, ok := m.anyFile(); ok {
			size := rapid.Int64Range(0, 12).Draw(m.rt, "size")
			_, err := w.Setattr(ctx, ino, SetAttr{Size: &size})
			require.NoError(w.t, err)
		}
	case 6:
		_ = w.Unlink(m.seen())
	case 7:
		_ = w.Rmdir(m.seen())
	case 8, 9:
		from, name := m.seen()
		to, newName := m.seen()
		_ = w.Rename(from, name, to, newName, rapid.Bool().Draw(m.rt, "noreplace"))
	case 10:
		m.remote()
	case 11:
		m.send()
	case 12:
		require.NoError(w.t, w.Checkpoint())
	case 13:
		m.delete()
	case 14:
		want := wanted(w.Snapshot(nil, nil))
		tree := w.dump()
		cut := strings.Contains(tree, cutOff)
		w.kill()
		m.held = nil
		found := wanted(w.Snapshot(nil, nil))
		require.Equal(w.t, strings.ReplaceAll(tree, cutOff, ""), w.dump())
		if !cut {
			require.Equal(w.t, want, found)
		}
	case 15:
		if ino, ok := m.anyFile(); ok {
			w.Ref(ino)
			m.held = append(m.held, ino)
		}
	case 16: // perhaps to one that has lost its name
		if len(m.held) > 0 {
			_, err := w.Write(ctx, rapid.SampledFrom(m.held).Draw(m.rt, "held"), []byte(m.text()), rapid.Int64Range(0, 20).Draw(m.rt, "off"))
			require.NoError(w.t, err)
		}
	}
}

// remote puts, moves or drops a memory as a pass would.
func (m *mover) remote() {
	w := m.w
	var known []Base
	for b := range w.Bases() {
		known = append(known, b)
	}
	slices.SortFunc(known, func(a, b Base) int { return strings.Compare(a.ID, b.ID) })
	path := "/" + m.name()
	if rapid.Bool().Draw(m.rt, "deep") {
		path += "/" + m.name()
	}
	text := m.text()
	fresh := Base{ID: fmt.Sprint("m", m.next), Path: path, SHA: store.Hash([]byte(text)), Size: int64(len(text)), UpdatedAt: w.clock.now(), CreatedAt: w.clock.now()}
	w.texts[fresh.SHA] = text
	if len(known) == 0 || rapid.Bool().Draw(m.rt, "new") {
		m.next++
		_, err := w.Apply([]Apply{{Place: PutFile, ID: fresh.ID, Base: &fresh}})
		require.NoError(w.t, err)
		return
	}
	b := rapid.SampledFrom(known).Draw(m.rt, "memory")
	s := w.Snapshot([]string{b.ID}, nil)
	at := s.Memories[slices.IndexFunc(s.Memories, func(m Memory) bool { return m.Base.ID == b.ID })].Carrier
	var ino Ino
	if at != nil {
		ino = at.Ino
	}
	var set []Apply
	switch rapid.IntRange(0, 2).Draw(m.rt, "how") {
	case 0:
		b.SHA, b.Size = fresh.SHA, fresh.Size
		set = []Apply{{Place: PutFile, ID: b.ID, Base: &b, Ino: ino}}
	case 1:
		b.Path = path
		if ino == 0 {
			return
		}
		set = []Apply{{Place: MoveFile, ID: b.ID, Base: &b, Ino: ino}}
	case 2:
		set = []Apply{{Place: DropFile, ID: b.ID, Ino: ino}}
	}
	_, err := w.Apply(set)
	require.NoError(w.t, err)
}

// send tells a changed file's text to the store, and perhaps hears of it.
func (m *mover) send() {
	w := m.w
	s := w.Snapshot(nil, nil)
	if len(s.Files) == 0 {
		return
	}
	f := rapid.SampledFrom(s.Files).Draw(m.rt, "sent")
	if f.SHA.IsZero() {
		return
	}
	text, err := w.Content(f.Ino, f.Gen)
	require.NoError(w.t, err)
	w.texts[f.SHA] = string(text)
	seq, err := w.BeginSend(Send{Op: OpCreate, Path: f.Path, SHA: f.SHA, Ino: f.Ino})
	require.NoError(w.t, err)
	if rapid.Bool().Draw(m.rt, "heard") {
		m.next++
		b := Base{ID: fmt.Sprint("m", m.next), Path: f.Path, SHA: f.SHA, Size: f.Size, UpdatedAt: w.clock.now(), CreatedAt: w.clock.now()}
		require.NoError(w.t, w.Settle(seq, &Apply{ID: b.ID, Base: &b, Ino: f.Ino}))
	}
}

// delete decides about a memory's delete, or sends it.
func (m *mover) delete() {
	w := m.w
	s := w.Snapshot(nil, nil)
	if len(s.Memories) == 0 {
		return
	}
	b := rapid.SampledFrom(s.Memories).Draw(m.rt, "deleted").Base
	verdict := Verdict(rapid.IntRange(0, 2).Draw(m.rt, "verdict"))
	require.NoError(w.t, w.Judge(map[string]Verdict{b.ID: verdict}))
	if verdict == HeldBack {
		return
	}
	seq, err := w.BeginSend(Send{Op: OpDelete, ID: b.ID, Counted: verdict == Unjudged})
	require.NoError(w.t, err)
	if rapid.Bool().Draw(m.rt, "refused") {
		require.NoError(w.t, w.Settle(seq, nil))
	}
}

// checkSums compares the running sums with a count.
func (m *mover) checkSums() {
	t := m.w.tree
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	memories, scratch, bytes := 0, int64(0), int64(0)
	t.root.files(func(n *node) {
		switch {
		case t.isMarker(n):
		case t.scratch.Match(n.path()):
			scratch += n.content.size
		default:
			memories++
			bytes += n.content.size
		}
	})
	require.Equal(m.w.t, memories, t.memories)
	require.Equal(m.w.t, scratch, t.scratchBytes)
	require.Equal(m.w.t, bytes, t.contentBytes)
	for path, id := range t.basePath {
		require.Equal(m.w.t, path, t.bases[id].Path)
	}
	for id, b := range t.bases {
		if b.carrier != nil {
			require.Equal(m.w.t, id, b.carrier.memory)
			require.Same(m.w.t, b.carrier, t.nodes[b.carrier.ino])
		}
	}
}
