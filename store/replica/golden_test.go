package replica

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store"
	"memfs/store/replica/journal"
)

var updateGolden = flag.Bool("update", false, "write golden replicas of the present format version that are missing (never over old ones)")

// goldenStories are what the golden replicas of version 1 lived through; together
// they have every kind of record.
var goldenStories = map[string]func(*world){
	"local": func(w *world) {
		w.write("/a.md", "first text of a")
		w.write("/dir/b.md", "text of b")
		w.write("/dir/deep/é.md", "ü")
		w.write("/draft~", "local only")
		w.mv("/a.md", "/dir/a.md")
		w.write("/gone.md", "gone")
		w.rm("/gone.md")
		mode, size := uint32(0o640), int64(5)
		_, err := w.Setattr(context.Background(), w.ino("/dir/a.md"), SetAttr{Mode: &mode, Size: &size})
		require.NoError(w.t, err)
		_, err = w.Write(context.Background(), w.ino("/dir/a.md"), []byte("patched"), 9)
		require.NoError(w.t, err)
	},
	"agreed": func(w *world) {
		w.base("mem_1", "/one.md", "text of one")
		w.base("mem_2", "/x/two.md", "text of two")
		w.base("mem_3", "/three.md", "text of three")
		w.base("mem_4", "/four.md", "text of four")
		w.write("/one.md", "changed")
		w.mv("/x/two.md", "/moved.md")
		w.rm("/three.md")
		b, _ := w.Base("mem_4")
		b.Path = "/x/four.md"
		_, err := w.Apply([]Apply{{Place: MoveFile, ID: b.ID, Base: &b, Ino: w.ino("/four.md")}})
		require.NoError(w.t, err)
	},
	"sent": func(w *world) {
		w.base("mem_1", "/one.md", "text of one")
		w.write("/new.md", "made here")
		f := w.Snapshot(nil, nil).Files[0]
		seq, err := w.BeginSend(Send{Op: OpCreate, Path: f.Path, SHA: f.SHA, Ino: f.Ino})
		require.NoError(w.t, err)
		b := Base{ID: "mem_2", VersionID: "v1", Path: f.Path, SHA: f.SHA, Size: f.Size}
		require.NoError(w.t, w.Settle(seq, &Apply{ID: b.ID, Base: &b, Ino: f.Ino}))
		w.write("/one.md", "on its way")
		at := w.Snapshot(nil, nil).Memories[0].At
		_, err = w.BeginSend(Send{Op: OpUpdate, ID: "mem_1", Path: "/one.md", SHA: at.SHA, Ino: at.Ino})
		require.NoError(w.t, err)
		_, err = w.Apply([]Apply{{Place: DropFile, ID: "mem_2", Ino: f.Ino}})
		require.NoError(w.t, err)
	},
	"saves": func(w *world) {
		w.base("mem_1", "/one.md", "text of one")
		w.base("mem_2", "/two.md", "text of two")
		zero := int64(0)
		for _, path := range []string{"/one.md", "/two.md"} {
			_, err := w.Setattr(context.Background(), w.ino(path), SetAttr{Size: &zero})
			require.NoError(w.t, err)
		}
		require.NoError(w.t, w.Fsync(w.ino("/two.md"))) // it is meant to be empty
		w.fail(w.tree.nodes[w.ino("/two.md")])
	},
	"stray": func(w *world) {
		b := w.base("mem_1", "/one.md", "text of one")
		old, err := w.Lookup(Root, "one.md") // somebody has it open
		require.NoError(w.t, err)
		b.VersionID, b.SHA, b.Size = "v2", store.Hash([]byte("the store's")), 11
		w.texts[b.SHA] = "the store's"
		_, err = w.Apply([]Apply{{Place: PutFile, ID: b.ID, Base: &b, Ino: old.Ino}})
		require.NoError(w.t, err)
		_, err = w.Write(context.Background(), old.Ino, []byte("kept aside"), 0)
		require.NoError(w.t, err)
		_, err = w.Apply([]Apply{{Place: DropFile, Ino: old.Ino, Loser: &Loser{Reason: "stray"}}})
		require.NoError(w.t, err)
		_, err = w.Write(context.Background(), old.Ino, []byte("written once more"), 0)
		require.NoError(w.t, err)
	},
	"deletes": func(w *world) {
		for _, id := range []string{"mem_1", "mem_2", "mem_3"} {
			w.base(id, "/"+id, id)
			w.rm("/" + id)
		}
		require.NoError(w.t, w.Judge(map[string]Verdict{"mem_1": HeldBack, "mem_2": Allowed}))
		_, err := w.BeginSend(Send{Op: OpDelete, ID: "mem_3", Counted: true})
		require.NoError(w.t, err)
	},
	"checkpoint": func(w *world) {
		goldenTree(w)
		require.NoError(w.t, w.Checkpoint())
		w.write("/after.md", "after the checkpoint")
	},
}

// goldenTree has what a checkpoint has to say something of.
func goldenTree(w *world) {
	w.base("mem_1", "/one.md", "text of one")
	w.base("mem_2", "/two.md", "text of two")
	w.write("/dir/a.md", "text of a")
	w.write("/one.md", "changed")
	w.rm("/two.md")
	zero := int64(0)
	_, err := w.Setattr(context.Background(), w.ino("/dir/a.md"), SetAttr{Size: &zero})
	require.NoError(w.t, err)
	_, err = w.BeginSend(Send{Op: OpDelete, ID: "mem_2"})
	require.NoError(w.t, err)
}

// TestR16_GoldenReplicasOfVersion1Replay opens what earlier builds left and
// finds what they had.
func TestR16_GoldenReplicasOfVersion1Replay(t *testing.T) {
	kinds := map[kind]bool{}
	for story, live := range goldenStories {
		t.Run(story, func(t *testing.T) {
			golden := filepath.Join("testdata", "v1", story)
			if _, err := os.Stat(golden); os.IsNotExist(err) && *updateGolden {
				writeGolden(t, golden, live)
			}
			w := newWorld(t)
			require.NoError(t, w.Remove())
			p, err := openPlace(w.o.Dir, w.o.key(), nil)
			require.NoError(t, err)
			require.NoError(t, os.CopyFS(p.dir.Path(), os.DirFS(golden)))
			require.NoError(t, os.Chmod(filepath.Join(p.dir.Path(), objectsName), 0o700)) // version control keeps no modes
			_, err = journal.Read(p.dir, journalName, func(payload []byte) error {
				records, err := decode(payload)
				for _, r := range records {
					kinds[r.kind] = true
				}
				return err
			})
			require.NoError(t, err)
			p.close()
			w.open()
			want, err := os.ReadFile(golden + ".txt")
			require.NoError(t, err)
			assert.Equal(t, string(want), w.dump()+wanted(w.Snapshot(nil, nil)))
		})
	}
	for k := recNode; k.known(); k++ {
		assert.True(t, kinds[k], "no golden replica has record %d", k)
	}
	dirs, err := filepath.Glob("testdata/v1/*.txt")
	require.NoError(t, err)
	assert.Len(t, dirs, len(goldenStories), "every golden replica is replayed")
}

// writeGolden keeps what a killed replica leaves, and what replay makes of it.
func writeGolden(t *testing.T, golden string, live func(*world)) {
	w := newWorld(t)
	live(w)
	dir := w.place.dir.Path()
	require.NoError(t, w.shut())
	require.NoError(t, os.CopyFS(golden, os.DirFS(dir)))
	require.NoError(t, os.Remove(filepath.Join(golden, lockName)))
	path := filepath.Join(golden, journalName)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	content = append(bytes.TrimRight(content, "\x00"), make([]byte, 100)...)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	clear(w.texts) // of the store, which a replay has not got
	w.open()
	require.NoError(t, os.WriteFile(golden+".txt", []byte(w.dump()+wanted(w.Snapshot(nil, nil))), 0o600))
}
