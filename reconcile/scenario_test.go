package reconcile

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"memfs/store"
	"memfs/store/replica"
)

// settledWith runs the plans and compares requests, store and mount.
func (w *world) settledWith(sent []string, memories map[string]string) {
	w.run()
	require.ElementsMatch(w.t, sent, w.sent)
	if memories != nil {
		require.Equal(w.t, memories, w.memories())
	}
	w.requireSettled()
}

func TestR6_SaveByRenameUpdatesTarget(t *testing.T) {
	for _, sent := range []bool{false, true} {
		t.Run(fmt.Sprintf("temporary sent before: %v", sent), func(t *testing.T) {
			w := newWorld(t)
			w.agree("m", "/f", "v0")
			want := []string{"update m v1"}
			if sent {
				w.agree("tmp", "/f.tmp", "half")
				want = append(want, "delete tmp")
			}
			w.write("/f.tmp", "v1")
			w.rename("/f.tmp", "/f")
			w.settledWith(want, map[string]string{"m": "/f v1"})
		})
	}
}

func TestR6_BackupThenNewFileKeepsTheID(t *testing.T) {
	w := newWorld(t)
	w.agree("m", "/f", "v0")
	w.rename("/f", "/f.bak")
	w.write("/f", "v1")
	w.settledWith([]string{"update m v1", "create /f.bak v0"}, nil)
}

func TestR6_UnlinkAndCreateIsAnUpdate(t *testing.T) {
	w := newWorld(t)
	w.agree("m", "/f", "v0")
	w.unlink("/f")
	w.write("/f", "v1")
	w.settledWith([]string{"update m v1"}, map[string]string{"m": "/f v1"})
}

func TestR6_RenameIsOneUpdateWithTheContent(t *testing.T) {
	w := newWorld(t)
	w.agree("m", "/f", "v0")
	w.rename("/f", "/g")
	w.write("/g", "v1")
	w.settledWith([]string{"update m v1 to /g"}, map[string]string{"m": "/g v1"})
}

func TestR6_RenameOverMemoryUpdatesTarget(t *testing.T) {
	w := newWorld(t)
	w.agree("a", "/a", "text a")
	w.agree("b", "/b", "text b")
	w.rename("/a", "/b")
	r := Plan(w.input())
	require.Len(t, r.Sends, 2)
	require.Equal(t, []int{0}, r.Sends[1].After, "the text is at its new place before the old one goes")
	require.False(t, r.Sends[1].Counted, "a rename over a memory implies the delete")
	w.settledWith([]string{"update b text a", "delete a"}, map[string]string{"b": "/b text a"})
}

func TestR6_SwapAndChain(t *testing.T) {
	w := newWorld(t)
	for _, n := range []string{"a", "b", "c1", "c2", "c3"} {
		w.agree(n, "/"+n, "text "+n)
	}
	w.rename("/a", "/t")
	w.rename("/b", "/a")
	w.rename("/t", "/b")
	w.rename("/c3", "/c4")
	w.rename("/c2", "/c3")
	w.rename("/c1", "/c2")
	w.settledWith([]string{"update a text b", "update b text a", "update c2 text c1", "update c3 text c2",
		"create /c4 text c3", "delete c1"}, nil)
}

func TestR6_DirectoryRenameOfHundreds(t *testing.T) {
	w := newWorld(t)
	for i := range 300 {
		w.agree(fmt.Sprintf("m%d", i), fmt.Sprintf("/old/%d", i), fmt.Sprint(i))
	}
	for i := range 300 {
		w.rename(fmt.Sprintf("/old/%d", i), fmt.Sprintf("/new/%d", i))
	}
	r := Plan(w.input())
	require.Len(t, r.Sends, 300)
	for _, a := range r.Sends {
		require.True(t, a.Rename && !a.Content && len(a.After) == 0)
	}
	w.run()
	w.requireSettled()
}

func TestR6_FileBecomesDirectoryAndBack(t *testing.T) {
	w := newWorld(t)
	w.agree("m", "/x", "file")
	w.unlink("/x")
	w.write("/x/y", "below")
	w.settledWith([]string{"delete m", "create /x/y below"}, nil)

	w.sent = nil
	id, _ := index(w.store).At("/x/y")
	w.unlink("/x/y")
	w.write("/x", "again")
	w.settledWith([]string{"delete " + id, "create /x again"}, nil)
}

func TestR6_FileMovesIntoADirectoryOfItsName(t *testing.T) {
	w := newWorld(t)
	w.agree("m", "/x", "file")
	w.rename("/x", "/t")
	w.rename("/t", "/x/in")
	w.settledWith([]string{"update m to /x/in"}, map[string]string{"m": "/x/in file"})

	t.Run("where the store wants that in two requests", func(t *testing.T) {
		w := newWorld(t)
		w.agree("m", "/x", "file")
		w.rename("/x", "/t")
		w.rename("/t", "/x/in")
		w.policy.Split["m"] = "/x/in"
		w.settledWith([]string{"delete m", "create /x/in file"}, nil)
	})
}

// crossed is a world in which two files went below each other's old path.
func crossed(t *testing.T) *world {
	w := newWorld(t)
	w.agree("x", "/x", "text x")
	w.agree("y", "/y", "text y")
	w.rename("/x", "/t1")
	w.rename("/y", "/t2")
	w.rename("/t1", "/y/1")
	w.rename("/t2", "/x/1")
	return w
}

func TestR6_CrossedRenamesAreTakenApart(t *testing.T) {
	crossed(t).settledWith([]string{"delete x", "update y to /x/1", "create /y/1 text x"}, nil)

	w := crossed(t)
	w.policy.Deletions = DeletionsDisabled
	w.run()
	require.Empty(t, w.sent, "without deletes there is no way; all wait")
	r := Plan(w.input())
	require.Len(t, r.Held, 2)
	require.Equal(t, "text x", w.tree()["/y/1"])
}

func TestR6_CrossedRenamesWhileTheStoreChanged(t *testing.T) {
	w := crossed(t)
	w.putRemote("x", "/x", "theirs")
	w.run()
	w.requireSettled()
	require.Contains(t, w.texts, store.Hash([]byte("theirs")))
	found := false
	for _, m := range w.store {
		found = found || w.texts[m.SHA] == "theirs"
	}
	require.True(t, found, "the store's text stands")
}

// Where the store has another text for each of them, none can be made anew: the
// renames are undone.
func TestR7_CrossedRenamesWhileAllChangedInTheStore(t *testing.T) {
	w := crossed(t)
	w.putRemote("x", "/x", "theirs x")
	w.putRemote("y", "/y", "theirs y")
	w.run()
	w.run()
	w.requireSettled()
	require.Equal(t, map[string]string{"/x": "theirs x", "/y": "theirs y"}, w.tree())
}

func TestR7_RenameHereEditThere(t *testing.T) {
	w := newWorld(t)
	w.agree("m", "/f", "v0")
	w.rename("/f", "/g")
	w.putRemote("m", "/f", "theirs")
	w.settledWith([]string{"update m to /g"}, map[string]string{"m": "/g theirs"})
	require.Empty(t, w.conflicts)
}

func TestR7_EditHereRenameThere(t *testing.T) {
	w := newWorld(t)
	w.agree("m", "/f", "v0")
	w.write("/f", "mine")
	w.putRemote("m", "/g", "v0")
	w.settledWith([]string{"update m mine"}, map[string]string{"m": "/g mine"})
	require.Empty(t, w.conflicts)
}

func TestR7_BothEditedStoreWinsTextKept(t *testing.T) {
	w := newWorld(t)
	w.agree("m", "/f", "v0")
	w.write("/f", "mine")
	w.putRemote("m", "/f", "theirs")
	r := Plan(w.input())
	require.Len(t, r.Changes, 1)
	require.Equal(t, Note{Kind: Conflict, ID: "m", Path: "/f", To: "/f", Base: w.sha("v0"), Local: w.sha("mine"),
		Remote: w.sha("theirs")}, *r.Changes[0].Note)
	require.Equal(t, &replica.Loser{Reason: "edit", BaseSHA: w.sha("v0"), Remote: w.sha("theirs")}, r.Changes[0].Loser)
	w.settledWith(nil, map[string]string{"m": "/f theirs"})
	require.Equal(t, map[string]bool{"mine": true}, w.conflicts)
}

func TestR7_RenameTargetTakenIsUndoneAndTheEditGoesByID(t *testing.T) {
	w := newWorld(t)
	w.agree("m", "/f", "v0")
	w.rename("/f", "/g")
	w.write("/g", "mine")
	w.putRemote("n", "/g", "theirs")
	w.settledWith([]string{"update m mine"}, map[string]string{"m": "/f mine", "n": "/g theirs"})
	require.Empty(t, w.conflicts)
}

func TestR7_RenameOverMemoryThatChangedThereIsUndone(t *testing.T) {
	w := newWorld(t)
	w.agree("a", "/a", "text a")
	w.agree("b", "/b", "text b")
	w.rename("/a", "/b")
	w.putRemote("b", "/b", "theirs")
	w.settledWith(nil, map[string]string{"a": "/a text a", "b": "/b theirs"})
}

func TestR7_RenameOverMemoryThatWentThereKeepsTheID(t *testing.T) {
	w := newWorld(t)
	w.agree("a", "/a", "text a")
	w.agree("b", "/b", "text b")
	w.rename("/a", "/b")
	delete(w.store, "b")
	w.settledWith([]string{"update a to /b"}, map[string]string{"a": "/b text a"})
}

func TestR7_RemoteFileOverLocalDirectory(t *testing.T) {
	w := newWorld(t)
	w.agree("m", "/m", "moved in")
	w.write("/d/new", "new here")
	w.rename("/m", "/d/m")
	w.putRemote("n", "/d", "theirs")
	w.settledWith(nil, map[string]string{"m": "/m moved in", "n": "/d theirs"})
	require.Equal(t, map[string]bool{"new here": true}, w.conflicts)
}

func TestR7_LocalFileOverRemoteDirectory(t *testing.T) {
	w := newWorld(t)
	w.write("/d", "new here")
	w.putRemote("n", "/d/x", "theirs")
	w.settledWith(nil, map[string]string{"n": "/d/x theirs"})
	require.Equal(t, map[string]bool{"new here": true}, w.conflicts)
}

func TestR7_UndoneRenameWhoseOldPlaceIsADirectoryNow(t *testing.T) {
	w := newWorld(t)
	w.agree("m", "/a", "text")
	w.rename("/a", "/b")
	w.write("/a/new", "new here")
	w.putRemote("n", "/b", "theirs")
	w.settledWith(nil, map[string]string{"m": "/a text", "n": "/b theirs"})
	require.Equal(t, map[string]bool{"new here": true}, w.conflicts)
}

func TestR7_StraysGoToTheConflictArea(t *testing.T) {
	w := newWorld(t)
	in := w.input()
	in.Local.Strays = []replica.Stray{{Ino: 7, Gen: 3, MemoryID: "m", Path: "/f", SHA: w.sha("late"), Written: w.now.Add(-time.Second)}}
	in.Policy.Everything = false
	r := Plan(in)
	require.Empty(t, r.Changes)
	require.Equal(t, w.now.Add(time.Second), r.Wake, "it rests first")
	in.Policy.Everything = true
	r = Plan(in)
	require.Equal(t, []Change{{Apply: replica.Apply{Place: replica.DropFile, Ino: 7, Gen: 3, Loser: &replica.Loser{Reason: "stray"}},
		Note: &Note{Kind: StrayKept, ID: "m", Path: "/f", Local: w.sha("late")}}}, r.Changes)
}

func TestR9_RemoteSwapIsFollowed(t *testing.T) {
	w := newWorld(t)
	w.agree("a", "/a", "text a")
	w.agree("b", "/b", "text b")
	w.putRemote("a", "/b", "text a")
	w.putRemote("b", "/a", "text b")
	r := Plan(w.input())
	require.Len(t, r.Changes, 2)
	for _, c := range r.Changes {
		require.Equal(t, replica.MoveFile, c.Place)
	}
	w.settledWith(nil, nil)
}

func TestR9_DeletedThereRenamedHereIsMadeAnew(t *testing.T) {
	w := newWorld(t)
	w.agree("m", "/f", "v0")
	w.rename("/f", "/g")
	delete(w.store, "m")
	w.settledWith([]string{"create /g v0"}, nil)
}

func TestR10_ReadOnlyIsNeverSentAndOverwritten(t *testing.T) {
	w := newWorld(t)
	w.policy.ReadOnly = true
	w.agree("edit", "/edit", "v0")
	w.agree("gone", "/gone", "v0")
	w.agree("moved", "/moved", "v0")
	w.agree("kept", "/kept", "v0")
	w.write("/edit", "mine")
	w.write("/new", "new here")
	w.unlink("/gone")
	w.rename("/moved", "/elsewhere")
	w.write("/kept", "mine too")
	for range 2 {
		r := Plan(w.input())
		require.Empty(t, r.Sends)
		require.Empty(t, r.Changes)
	}
	w.putRemote("edit", "/edit", "theirs")
	w.putRemote("gone", "/gone", "theirs")
	w.putRemote("moved", "/moved", "theirs")
	w.putRemote("n", "/new", "theirs")
	delete(w.store, "kept")
	w.run()
	require.Empty(t, w.sent)
	require.Equal(t, map[string]string{"/edit": "theirs", "/gone": "theirs", "/moved": "theirs", "/new": "theirs", "/kept": "mine too"}, w.tree())
	require.Equal(t, map[string]bool{"mine": true, "new here": true}, w.conflicts)
}

func TestR11_StoreAtItsCapTakesTheNextWhenOneIsFreed(t *testing.T) {
	w := newWorld(t)
	w.policy.MaxMemories = 2
	w.agree("a", "/a", "a")
	w.agree("b", "/b", "b")
	w.write("/c", "c")
	w.run()
	require.Empty(t, w.sent)
	require.Equal(t, Full, Plan(w.input()).Held[0].Hold)
	w.unlink("/a")
	w.settledWith([]string{"delete a", "create /c c"}, nil)
}

func TestR11_ArchivedStoreStillTakesDeletes(t *testing.T) {
	w := newWorld(t)
	w.policy.Archived = true
	w.agree("a", "/a", "a")
	w.agree("b", "/b", "b")
	w.unlink("/a")
	w.write("/b", "mine")
	w.run()
	require.Equal(t, []string{"delete a"}, w.sent)
	require.Equal(t, Archived, Plan(w.input()).Held[0].Hold)
}

func TestR12_UnmappablePathsAreLeftAlone(t *testing.T) {
	long := "/d/" + string(make([]byte, 0, 300)) + fmt.Sprintf("%0300d", 1)
	w := newWorld(t)
	for i, p := range []string{long, "/a\u200bb", "/" + store.MarkerName, "/" + store.MarkerName + "/x"} {
		require.False(t, Mappable(p))
		w.putRemote(fmt.Sprintf("u%d", i), p, "unseen")
	}
	require.True(t, Mappable("/x/"+store.MarkerName))
	w.write("/d", "in its way")
	w.run()
	require.Empty(t, w.sent)
	r := Plan(w.input())
	require.Len(t, r.Held, 1)
	require.Equal(t, Taken, r.Held[0].Hold)
	require.Equal(t, map[string]string{"/d": "in its way"}, w.tree())

	t.Run("a memory that is renamed to such a path leaves the mount", func(t *testing.T) {
		w := newWorld(t)
		w.agree("clean", "/clean", "v0")
		w.agree("edited", "/edited", "v0")
		w.write("/edited", "mine")
		w.putRemote("clean", long+"a", "v0")
		w.putRemote("edited", long+"b", "v0")
		w.run()
		require.Equal(t, map[string]string{"/edited": "mine"}, w.tree())
		require.Equal(t, []string{"create /edited mine"}, w.sent)
	})
}

func TestR13_NoMarkerNothingAtAll(t *testing.T) {
	w := newWorld(t)
	w.agree("m", "/f", "v0")
	w.write("/f", "mine")
	w.write("/new", "mine")
	w.putRemote("n", "/n", "theirs")
	w.noMarker = true
	require.Equal(t, Result{MarkerBad: true}, Plan(w.input()))
	w.noMarker = false
	w.run()
	w.requireSettled()
}

func TestR17_LocalOnlyFileAtAPathOfTheStoreLosesItsPlace(t *testing.T) {
	w := newWorld(t)
	w.putRemote("n", "/f~", "theirs")
	f := w.addFile("", "/f~", "editor's", w.now)
	in := w.input()
	in.Local.Files = nil
	in.Local.Paths = map[string]replica.PathState{"/f~": {Kind: replica.IsFile, File: f}}
	r := Plan(in)
	require.Len(t, r.Changes, 1)
	require.Equal(t, f.Ino, r.Changes[0].Ino)
	require.NotNil(t, r.Changes[0].Loser)
}
