package reconcile

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"memfs/store"
	"memfs/store/replica"
)

// The matrix: one memory, every combination of what happened to its content,
// its path and its existence on both sides, under every condition. The cells
// are written from the rules (R4 to R11):
//
//   - nothing to do
//     c, p, cp     an update of the content, the path, or both
//     create       a create
//     delete       a delete
//     pull         the store's content takes the file's place
//     pull!        the same, the local text kept as a conflict
//     move         the store's path, the file kept
//     adopt        base only
//     drop, drop!  the file goes (its text kept)
//     forget       base only: the memory is gone
//     rest refused failed read-only archived in-flight   held, with that reason
//
// content and path: same, ours (changed here), theirs (changed in the store),
// both (to the same), clash (to different values). Deleted here or there:
// "gone" stands in the column of the side.
const matrix = `
content path   | normal resting read-only refused failed archived in-flight
same    same   | -      -       -         -       -      -        -
same    ours   | p      rest    read-only p       p      archived in-flight
same    theirs | move   rest    move      move    move   move     in-flight
same    both   | adopt  rest    adopt     adopt   adopt  adopt    in-flight
same    clash  | move   rest    move      move    move   move     in-flight
ours    same   | c      rest    read-only refused failed archived in-flight
ours    ours   | cp     rest    read-only p       p      archived in-flight
ours    theirs | move   rest    move      move    move   move     in-flight
ours    both   | c      rest    read-only adopt   adopt  archived in-flight
ours    clash  | move   rest    move      move    move   move     in-flight
theirs  same   | pull   rest    pull      pull    pull   pull     in-flight
theirs  ours   | p      rest    pull      p       p      archived in-flight
theirs  theirs | pull   rest    pull      pull    pull   pull     in-flight
theirs  both   | pull   rest    pull      pull    pull   pull     in-flight
theirs  clash  | pull   rest    pull      pull    pull   pull     in-flight
both    same   | adopt  rest    adopt     adopt   adopt  adopt    in-flight
both    ours   | p      rest    read-only p       p      archived in-flight
both    theirs | move   rest    move      move    move   move     in-flight
both    both   | adopt  rest    adopt     adopt   adopt  adopt    in-flight
both    clash  | move   rest    move      move    move   move     in-flight
clash   same   | pull!  rest    pull!     pull!   pull!  pull!    in-flight
clash   ours   | p      rest    pull!     p       p      archived in-flight
clash   theirs | pull!  rest    pull!     pull!   pull!  pull!    in-flight
clash   both   | pull!  rest    pull!     pull!   pull!  pull!    in-flight
clash   clash  | pull!  rest    pull!     pull!   pull!  pull!    in-flight
`

// existence is the matrix for memories that one side or both do not have.
// base is "base" or "none"; local and remote are "gone", "same" (as base),
// "edit", "rename" or, without a base, "new" (and "equal": the same text).
const existence = `
base local  remote | normal resting read-only refused failed archived in-flight
base gone   same   | delete rest    read-only delete  delete delete   in-flight
base gone   edit   | pull   rest    pull      pull    pull   pull     in-flight
base gone   rename | pull   rest    pull      pull    pull   pull     in-flight
base gone   gone   | forget rest    forget    forget  forget forget   in-flight
base same   gone   | drop   rest    drop      drop    drop   drop     in-flight
base edit   gone   | forget rest    forget    forget  forget forget   in-flight
base rename gone   | forget rest    forget    forget  forget forget   in-flight
none new    gone   | create rest    read-only refused failed archived in-flight
none gone   new    | pull   pull    pull      pull    pull   pull     pull
none new    new    | pull!  rest    pull!     pull!   pull!  pull!    in-flight
none equal  new    | adopt  rest    adopt     adopt   adopt  adopt    in-flight
`

// rows reads a matrix: for each row its labels, and its cells by condition.
func rows(table string) (labels [][]string, cells []map[string]string) {
	lines := strings.Split(strings.TrimSpace(table), "\n")
	_, head, _ := strings.Cut(lines[0], "|")
	conditions := strings.Fields(head)
	for _, line := range lines[1:] {
		left, right, _ := strings.Cut(line, "|")
		row := map[string]string{}
		for i, cell := range strings.Fields(right) {
			row[conditions[i]] = cell
		}
		labels, cells = append(labels, strings.Fields(left)), append(cells, row)
	}
	return labels, cells
}

func TestMatrix(t *testing.T) {
	labels, cells := rows(matrix)
	require.Len(t, labels, 25)
	for i, row := range cells {
		for condition, want := range row {
			t.Run(fmt.Sprintf("content %s/path %s/%s", labels[i][0], labels[i][1], condition), func(t *testing.T) {
				w := newWorld(t)
				f := w.agree("m", "/b", "b")
				axisOf(labels[i][0], "b", func(l string) { f.SHA = w.sha(l) }, func(r string) { w.putRemote("m", w.store["m"].Path, r) })
				axisOf(labels[i][1], "/b", func(l string) { f.Path = l }, func(r string) { w.putRemote("m", r, w.texts[w.store["m"].SHA]) })
				check(t, w, f, condition, want)
			})
		}
	}
}

// axisOf makes local and remote values that stand to base as the axis says.
func axisOf(axis, base string, local, remote func(string)) {
	switch axis {
	case "ours":
		local(base + "l")
	case "theirs":
		remote(base + "r")
	case "both":
		local(base + "x")
		remote(base + "x")
	case "clash":
		local(base + "l")
		remote(base + "r")
	}
}

func TestMatrixExistence(t *testing.T) {
	labels, cells := rows(existence)
	for i, row := range cells {
		for condition, want := range row {
			t.Run(strings.Join(labels[i], " ")+"/"+condition, func(t *testing.T) {
				w := newWorld(t)
				f := existing(w, labels[i])
				check(t, w, f, condition, want)
			})
		}
	}
}

func existing(w *world, label []string) *replica.File {
	base, local, remote := label[0], label[1], label[2]
	var f *replica.File
	if base == "base" {
		f = w.agree("m", "/b", "b")
	}
	switch local {
	case "gone":
		if f != nil {
			w.unlink("/b")
			f = nil
		}
	case "edit":
		f.SHA = w.sha("bl")
	case "rename":
		f.Path = "/bl"
	case "new":
		f = w.addFile("", "/b", "bl", time.Time{})
	case "equal":
		f = w.addFile("", "/b", "r", time.Time{})
	}
	switch remote {
	case "gone":
		delete(w.store, "m")
	case "edit":
		w.putRemote("m", "/b", "br")
	case "rename":
		w.putRemote("m", "/br", "b")
	case "new":
		w.putRemote("m", "/b", "r")
	}
	return f
}

// check puts the world under a condition, compares the first plan with the
// cell, and then runs the plans until the world is settled.
func check(t *testing.T, w *world, f *replica.File, condition, want string) {
	touched := w.now.Add(-time.Minute)
	w.policy.Everything = false
	switch condition {
	case "resting":
		touched = w.now.Add(-time.Second)
	case "read-only":
		w.policy.ReadOnly = true
	case "refused":
		if f != nil {
			w.policy.Refused[f.Path] = Refusal{SHA: f.SHA}
		}
	case "failed":
		if f != nil {
			f.Failed = true
		}
	case "archived":
		w.policy.Archived = true
	case "in-flight":
		s := replica.Send{Seq: 99}
		if _, known := w.base["m"]; known {
			s.ID = "m"
		} else if f != nil {
			s.Ino = f.Ino
		}
		w.sends = append(w.sends, s)
		w.policy.InFlight = map[uint64]bool{99: true}
	}
	if f != nil {
		f.Written = touched
	}
	for id := range w.base {
		w.touched[id] = touched
	}
	require.Equal(t, want, describe(t, w, Plan(w.input())))
	w.policy.Everything, w.policy.InFlight, w.sends = true, nil, nil
	plans := w.run()
	last := Plan(w.input())
	require.Empty(t, last.Changes, "not settled after %d plans", len(plans))
	require.Empty(t, last.Sends, "not settled after %d plans", len(plans))
	if condition == "normal" || condition == "resting" || condition == "in-flight" {
		w.requireSettled()
	}
}

// describe says in the words of the matrix what a plan does.
func describe(t *testing.T, w *world, r Result) string {
	var words []string
	for _, c := range r.Changes {
		word := map[replica.Place]string{replica.PutFile: "pull", replica.MoveFile: "move", replica.DropFile: "drop"}[c.Place]
		if word == "" {
			word = "adopt"
			if c.Base == nil {
				word = "forget"
			}
		}
		if c.Loser != nil {
			word += "!"
		}
		words = append(words, word)
	}
	for _, a := range r.Sends {
		switch {
		case a.Op == replica.OpCreate:
			words = append(words, "create")
		case a.Op == replica.OpDelete:
			words = append(words, "delete")
		case a.Content && a.Rename:
			words = append(words, "cp")
		case a.Content:
			words = append(words, "c")
		default:
			words = append(words, "p")
		}
		if a.Op != replica.OpCreate {
			require.Equal(t, w.store[a.ID].SHA, a.Expect, "every request carries the hash that the store has")
		}
	}
	for _, h := range r.Held {
		require.NotEmpty(t, h.Reason)
		words = append(words, map[Hold]string{Resting: "rest", Refused: "refused", Failed: "failed", ReadOnly: "read-only",
			Archived: "archived", InFlight: "in-flight"}[h.Hold])
	}
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, " ")
}

// sentUnknown: each request whose answer was lost, applied or not, under each
// thing that may have happened since (sync-cases 7.1 to 7.10).
func TestMatrixSentUnknown(t *testing.T) {
	v1 := store.Hash([]byte("v1"))
	cases := []struct {
		name   string
		op     replica.Op
		landed bool
		then   func(w *world, f *replica.File)
		want   []string // requests after the answer was lost
		tree   map[string]string
	}{
		{"update landed", replica.OpUpdate, true, nil, nil, map[string]string{"/f": "v1"}},
		{"update landed, edited again", replica.OpUpdate, true,
			func(w *world, _ *replica.File) { w.write("/f", "v2") }, []string{"update m v2"}, map[string]string{"/f": "v2"}},
		{"update landed, put back", replica.OpUpdate, true,
			func(w *world, _ *replica.File) { w.write("/f", "v0") }, []string{"update m v0"}, map[string]string{"/f": "v0"}},
		{"update landed, deleted", replica.OpUpdate, true,
			func(w *world, _ *replica.File) { w.unlink("/f") }, []string{"delete m"}, map[string]string{}},
		{"update landed, renamed", replica.OpUpdate, true,
			func(w *world, _ *replica.File) { w.rename("/f", "/g") }, []string{"update m to /g"}, map[string]string{"/g": "v1"}},
		{"update landed, then theirs, edited again", replica.OpUpdate, true,
			func(w *world, _ *replica.File) { w.putRemote("m", "/f", "theirs"); w.write("/f", "v2") }, nil, map[string]string{"/f": "theirs"}},
		{"update not landed", replica.OpUpdate, false, nil, []string{"update m v1"}, map[string]string{"/f": "v1"}},
		{"update not landed, put back", replica.OpUpdate, false,
			func(w *world, _ *replica.File) { w.write("/f", "v0") }, nil, map[string]string{"/f": "v0"}},
		{"update not landed, deleted there, put back", replica.OpUpdate, false,
			func(w *world, _ *replica.File) { delete(w.store, "m"); w.write("/f", "v0") }, nil, map[string]string{}},
		{"create landed", replica.OpCreate, true, nil, nil, map[string]string{"/f": "v1"}},
		{"create landed, edited again", replica.OpCreate, true,
			func(w *world, _ *replica.File) { w.write("/f", "v2") }, []string{"update n v2"}, map[string]string{"/f": "v2"}},
		{"create landed, deleted", replica.OpCreate, true,
			func(w *world, _ *replica.File) { w.unlink("/f") }, []string{"delete n"}, map[string]string{}},
		{"create landed, renamed", replica.OpCreate, true,
			func(w *world, _ *replica.File) { w.rename("/f", "/g") }, []string{"update n to /g"}, map[string]string{"/g": "v1"}},
		{"create landed, renamed, another in its place", replica.OpCreate, true,
			func(w *world, _ *replica.File) { w.rename("/f", "/g"); w.write("/f", "v3") },
			[]string{"create /g v1", "update n v3"}, map[string]string{"/f": "v3", "/g": "v1"}},
		{"create not landed", replica.OpCreate, false, nil, []string{"create /f v1"}, map[string]string{"/f": "v1"}},
		{"create not landed, theirs", replica.OpCreate, false,
			func(w *world, _ *replica.File) { w.putRemote("x", "/f", "theirs") }, nil, map[string]string{"/f": "theirs"}},
		{"delete landed", replica.OpDelete, true, nil, nil, map[string]string{}},
		{"delete landed, made anew", replica.OpDelete, true,
			func(w *world, _ *replica.File) { w.write("/f", "v4") }, []string{"create /f v4"}, map[string]string{"/f": "v4"}},
		{"delete not landed", replica.OpDelete, false, nil, []string{"delete m"}, map[string]string{}},
		{"delete not landed, theirs", replica.OpDelete, false,
			func(w *world, _ *replica.File) { w.putRemote("m", "/f", "theirs") }, nil, map[string]string{"/f": "theirs"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			var f *replica.File
			if c.op != replica.OpCreate {
				w.agree("m", "/f", "v0")
			}
			if c.op == replica.OpDelete {
				w.unlink("/f")
			} else {
				f = w.write("/f", "v1")
				require.Equal(t, v1, f.SHA)
			}
			r := w.plan()
			require.Len(t, r.Sends, 1)
			if c.landed {
				w.lose(r.Sends[0])
			} else {
				w.begin(r.Sends[0])
			}
			for id, m := range w.store { // the model's own ids, for the table
				if c.op == replica.OpCreate && id != "n" {
					delete(w.store, id)
					m.ID = "n"
					w.store["n"] = m
				}
			}
			w.sent = nil
			if c.then != nil {
				c.then(w, f)
			}
			w.run()
			require.ElementsMatch(t, c.want, w.sent)
			require.Equal(t, c.tree, w.tree())
			require.Empty(t, w.sends, "a send is not remembered beyond one look at the store")
			w.requireSettled()
		})
	}
}
