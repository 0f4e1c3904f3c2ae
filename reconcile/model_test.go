package reconcile

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"memfs/store"
	"memfs/store/replica"
)

// world is a tiny model of a store and of a mount's replica, just rich enough
// to carry plans out: it applies the rules of both sides and fails the test
// where a plan breaks one.
type world struct {
	t     require.TestingT
	now   time.Time
	store map[string]store.Memory // remote, by id
	files map[replica.Ino]*replica.File
	base  map[string]replica.Base
	// touched is when the base path of a memory lost its file.
	touched map[string]time.Time
	// verdicts and counted are the guard's.
	verdicts map[string]replica.Verdict
	counted  []replica.Delete
	sends    []replica.Send
	texts    map[store.SHA]string
	// conflicts are the texts that lost, history those that the store once had.
	conflicts map[string]bool
	history   map[string]bool
	policy    Policy
	noMarker  bool
	seq       int
	// sent is a log of the requests, in words.
	sent []string
}

func newWorld(t require.TestingT) *world {
	return &world{
		t: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		store: map[string]store.Memory{}, files: map[replica.Ino]*replica.File{}, base: map[string]replica.Base{},
		touched: map[string]time.Time{}, verdicts: map[string]replica.Verdict{}, texts: map[store.SHA]string{}, conflicts: map[string]bool{},
		history: map[string]bool{},
		policy:  Policy{Everything: true, Interval: 15 * time.Second, Refused: map[string]Refusal{}, Split: map[string]string{}},
	}
}

func (w *world) next() int { w.seq++; return w.seq }

func (w *world) sha(text string) store.SHA {
	h := store.Hash([]byte(text))
	w.texts[h] = text
	return h
}

// Remote operations.

func (w *world) putRemote(id, path, text string) {
	w.store[id] = store.Memory{ID: id, Path: path, SHA: w.sha(text), Size: int64(len(text)),
		VersionID: fmt.Sprintf("v%d", w.next())}
	w.history[text] = true
}

// agree puts a memory on both sides, and its file under the same path.
func (w *world) agree(id, path, text string) *replica.File {
	w.putRemote(id, path, text)
	w.base[id] = replica.BaseOf(w.store[id])
	return w.addFile(id, path, text, time.Time{})
}

// Local operations.

func (w *world) addFile(id, path, text string, written time.Time) *replica.File {
	f := &replica.File{Ino: replica.Ino(w.next() + 1), Gen: 1, Path: path, SHA: w.sha(text), Size: int64(len(text)),
		MemoryID: id, Fetched: true, Written: written}
	w.files[f.Ino] = f
	return f
}

func (w *world) fileAt(path string) *replica.File {
	for _, f := range w.files {
		if f.Path == path {
			return f
		}
	}
	return nil
}

func (w *world) write(path, text string) *replica.File {
	f := w.fileAt(path)
	if f == nil {
		f = w.addFile("", path, text, w.now)
	}
	f.SHA, f.Size, f.Written, f.Gen = w.sha(text), int64(len(text)), w.now, f.Gen+1
	f.Emptied = text == ""
	if f.DirtySince.IsZero() {
		f.DirtySince = w.now
	}
	return f
}

func (w *world) rename(from, to string) {
	if over := w.fileAt(to); over != nil {
		w.unlink(to)
	}
	f := w.fileAt(from)
	f.Path, f.Moved, f.Gen = to, w.now, f.Gen+1
	w.touchBase(from)
	if f.DirtySince.IsZero() {
		f.DirtySince = w.now
	}
}

func (w *world) unlink(path string) {
	delete(w.files, w.fileAt(path).Ino)
	w.touchBase(path)
}

func (w *world) touchBase(path string) {
	for id, b := range w.base {
		if b.Path == path {
			w.touched[id] = w.now
		}
	}
}

// input is what a plan is made from now.
func (w *world) input() Input {
	in := Input{Policy: w.policy, Remote: map[string]*store.Memory{}, View: index(w.store)}
	in.Local = replica.Snapshot{Time: w.now, MarkerOK: !w.noMarker, BaseCount: len(w.base), Sends: slices.Clone(w.sends)}
	for _, d := range w.counted {
		if w.now.Sub(d.At) <= replica.DeleteWindow {
			in.Local.Counted = append(in.Local.Counted, d)
		}
	}
	for id, m := range w.store {
		b, known := w.base[id]
		if !known && Mappable(m.Path) || known && b != replica.BaseOf(m) {
			in.Remote[id] = &m
		}
	}
	standing := map[replica.Ino]bool{}
	for id, b := range w.base {
		if _, there := w.store[id]; !there {
			in.Remote[id] = nil
		}
		m := replica.Memory{Base: b, At: w.copyAt(b.Path), Touched: w.touched[id], First: w.touched[id], Verdict: w.verdicts[id]}
		for _, f := range w.files {
			if f.MemoryID == id {
				c := *f
				m.Carrier = &c
			}
		}
		if m.At != nil {
			standing[m.At.Ino] = true
		}
		_, asked := in.Remote[id]
		if asked || m.At == nil || m.At.MemoryID != id || m.At.SHA != b.SHA {
			in.Local.Memories = append(in.Local.Memories, m)
		}
	}
	for _, f := range w.files {
		if !standing[f.Ino] {
			in.Local.Files = append(in.Local.Files, *f)
		}
	}
	slices.SortFunc(in.Local.Files, func(a, b replica.File) int { return strings.Compare(a.Path, b.Path) })
	return in
}

func (w *world) copyAt(path string) *replica.File {
	f := w.fileAt(path)
	if f == nil {
		return nil
	}
	c := *f
	return &c
}

// Carrying a plan out.

// fate is what becomes of a request.
type fate int

const (
	done       fate = iota
	rejected        // certainly not applied
	lostBefore      // no answer, not applied
	lostAfter       // no answer, applied
)

// run plans and carries out until a plan asks for no other, and returns the
// plans.
func (w *world) run() []Result {
	var plans []Result
	for range 6 {
		r := w.plan()
		plans = append(plans, r)
		w.carryOut(r, func(Action) fate { return done })
		if !r.Again {
			return plans
		}
	}
	require.Fail(w.t, "plans go on for ever", "%+v", plans[len(plans)-1])
	return nil
}

// plan makes a plan and checks what must hold of every plan.
func (w *world) plan() Result {
	in := w.input()
	r := Plan(in)
	slices.Reverse(in.Local.Memories)
	require.True(w.t, reflect.DeepEqual(r, Plan(in)), "a plan depends on nothing but what it is given")
	pulled, inos := map[string]bool{}, map[replica.Ino]bool{}
	for _, c := range r.Changes {
		if c.ID != "" {
			require.False(w.t, pulled[c.ID], "one memory changed twice")
			pulled[c.ID] = true
		}
		inos[c.Ino] = c.Ino != 0
	}
	sent := map[string]int{}
	for i, a := range r.Sends {
		require.False(w.t, a.ID != "" && pulled[a.ID], "%s is pulled and sent", a.ID)
		require.False(w.t, inos[a.Ino], "a file is pulled and sent: %+v\n%+v\n%+v", a, r.Changes, in.Local)
		for _, j := range a.After {
			require.Less(w.t, j, i, "what is needed goes before")
		}
		if a.ID != "" {
			sent[a.ID]++
			require.Equal(w.t, 1, sent[a.ID], "one request for one memory")
		}
		if a.Op == replica.OpCreate {
			continue
		}
		base, known := w.base[a.ID]
		for _, s := range r.Settle {
			if s.Apply != nil && s.Apply.ID == a.ID && s.Apply.Base != nil {
				base, known = *s.Apply.Base, true
			}
		}
		remote := w.store[a.ID]
		require.True(w.t, known, "%s without base", w.words(a))
		require.Equal(w.t, remote.SHA, a.Expect)
		if a.Op == replica.OpDelete || a.Content {
			seen := []store.SHA{base.SHA, a.SHA}
			for _, made := range r.Sends { // anew, where a rename is a delete and a create
				if made.Op == replica.OpCreate && slices.Contains(made.After, i) {
					seen = append(seen, made.SHA)
				}
			}
			require.Contains(w.t, seen, remote.SHA, "%s takes away a text that was never seen here", w.words(a))
		}
		if a.Op == replica.OpDelete || a.Rename {
			require.Equal(w.t, base.Path, remote.Path, "%s of what is elsewhere", w.words(a))
		}
	}
	return r
}

// carryOut does what a plan says. What depends on a send that did not succeed
// is left out.
func (w *world) carryOut(r Result, judge func(Action) fate) {
	for _, s := range r.Settle {
		w.settle(s)
	}
	maps.Copy(w.verdicts, r.Verdicts)
	w.apply(r.Changes)
	failed := map[int]bool{}
	for i, a := range r.Sends {
		if slices.ContainsFunc(a.After, func(j int) bool { return failed[j] }) {
			failed[i] = true
			continue
		}
		what := judge(a)
		if a.Counted && what != rejected {
			w.counted = append(w.counted, replica.Delete{ID: a.ID, At: w.now, Had: len(w.base)})
		}
		failed[i] = what != done
		switch what {
		case done:
			w.send(a)
		case lostBefore:
			w.begin(a)
		case lostAfter:
			w.lose(a)
		case rejected:
		}
	}
}

func (w *world) settle(s Settlement) {
	if at := slices.IndexFunc(w.sends, func(x replica.Send) bool { return x.Seq == s.Seq }); at >= 0 && s.Apply == nil {
		id := w.sends[at].ID
		w.counted = slices.DeleteFunc(w.counted, func(d replica.Delete) bool { return d.ID == id })
	}
	w.sends = slices.DeleteFunc(w.sends, func(x replica.Send) bool { return x.Seq == s.Seq })
	if s.Apply != nil {
		w.moveBase(*s.Apply)
	}
}

func (w *world) moveBase(a replica.Apply) {
	if a.ID == "" {
		return
	}
	delete(w.touched, a.ID)
	if a.Base == nil {
		delete(w.base, a.ID)
		delete(w.verdicts, a.ID)
		return
	}
	w.base[a.ID] = *a.Base
	if f := w.files[a.Ino]; f != nil {
		for _, other := range w.files {
			if other.MemoryID == a.ID {
				other.MemoryID = ""
			}
		}
		f.MemoryID = a.ID
	}
	for _, f := range w.files {
		if f.MemoryID == a.ID && f.Path == a.Base.Path && f.SHA == a.Base.SHA {
			f.DirtySince = time.Time{}
		}
	}
}

// apply is the replica's Apply: what is replaced or moved is taken out first.
func (w *world) apply(set []Change) {
	for _, c := range set {
		f := w.files[c.Ino]
		require.True(w.t, c.Ino == 0 || f != nil, "change of a file that is not there")
		require.True(w.t, c.Gen == 0 || f.Gen == c.Gen)
		if c.Loser != nil {
			w.conflicts[w.texts[f.SHA]] = true
		} else if c.Place == replica.PutFile || c.Place == replica.DropFile {
			require.True(w.t, f == nil || w.history[w.texts[f.SHA]], "a text that the store never had is lost")
		}
		switch c.Place {
		case replica.PutFile, replica.DropFile:
			delete(w.files, c.Ino)
		case replica.MoveFile:
			f.Path = c.Base.Path
		case replica.KeepTree:
		}
	}
	for _, c := range set {
		if c.Place == replica.PutFile {
			if old := w.carrierOf(c.ID); old != nil {
				old.MemoryID = ""
			}
			w.addFile(c.ID, c.Base.Path, w.texts[c.Base.SHA], time.Time{})
		}
		w.moveBase(c.Apply)
	}
	var all []string
	for _, f := range w.files {
		all = append(all, f.Path)
	}
	requirePrefixFree(w.t, all)
}

func (w *world) carrierOf(id string) *replica.File {
	for _, f := range w.files {
		if f.MemoryID == id {
			return f
		}
	}
	return nil
}

// tree is the mount's files, path to text.
func (w *world) tree() map[string]string {
	tree := map[string]string{}
	for _, f := range w.files {
		tree[f.Path] = w.texts[f.SHA]
	}
	return tree
}

// memories is the store, id to path and text.
func (w *world) memories() map[string]string {
	all := map[string]string{}
	for id, m := range w.store {
		all[id] = m.Path + " " + w.texts[m.SHA]
	}
	return all
}

// requireSettled checks that nothing is left to do, and that mount and store
// are equal.
func (w *world) requireSettled() {
	r := Plan(w.input())
	require.Empty(w.t, r.Changes, "changes left")
	require.Empty(w.t, r.Sends, "sends left")
	require.Empty(w.t, r.Settle, "settlements left")
	require.Empty(w.t, r.Held, "held")
	require.False(w.t, r.Again)
	byPath := map[string]string{}
	for _, m := range w.store {
		if Mappable(m.Path) {
			byPath[m.Path] = w.texts[m.SHA]
		}
	}
	require.Equal(w.t, byPath, w.tree(), "mount and store differ")
}

// index is the model store as an Index.
type index map[string]store.Memory

func (x index) Len() int { return len(x) }

func (x index) At(path string) (string, bool) {
	for id, m := range x {
		if m.Path == path {
			return id, true
		}
	}
	return "", false
}

func (x index) Below(path string) []string {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(x)) {
		if strings.HasPrefix(x[id].Path, path+"/") {
			ids = append(ids, id)
		}
	}
	return ids
}
