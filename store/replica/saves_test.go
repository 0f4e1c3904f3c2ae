package replica

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"memfs/store"
)

// cut is one step of a save and what a kill right after it leaves: the text of
// /f, and whether a save was cut off.
type cut struct {
	step string
	do   func(*saving)
	text string
	warn bool
}

// saving is a replica in which /f is saved.
type saving struct {
	*world
	base Base // zero where the text before was never sent
}

const textBefore = "the text before"

func (s *saving) truncate(size int64) {
	_, err := s.Setattr(context.Background(), s.ino("/f"), SetAttr{Size: &size})
	require.NoError(s.t, err)
}

func (s *saving) put(path, text string, off int64) {
	_, err := s.Write(context.Background(), s.ino(path), []byte(text), off)
	require.NoError(s.t, err)
}

func (s *saving) fsync(path string) { require.NoError(s.t, s.Fsync(s.ino(path))) }

// send sends /f as it is, as a pass or an explicit sync does.
func (s *saving) send() {
	snapshot := s.Snapshot(nil, nil)
	f := File{}
	for _, m := range snapshot.Memories {
		f = *m.At
	}
	for _, made := range snapshot.Files {
		f = made
	}
	require.Equal(s.t, "/f", f.Path)
	id := s.base.ID
	op := OpUpdate
	if id == "" {
		id, op = "m-f", OpCreate
	}
	seq, err := s.BeginSend(Send{Op: op, ID: s.base.ID, Path: "/f", SHA: f.SHA, Ino: f.Ino})
	require.NoError(s.t, err)
	b := Base{ID: id, VersionID: "v2", Path: "/f", SHA: f.SHA, Size: f.Size}
	require.NoError(s.t, s.Settle(seq, &Apply{ID: id, Base: &b, Ino: f.Ino}))
	s.Snapshot(nil, nil) // the next pass finds it clean
}

func (s *saving) rest() {
	s.clock.advance(EmptyRest + time.Second)
	s.Snapshot(nil, nil)
}

// saves are the ways in which programs save, step by step.
var saves = map[string][]cut{
	"truncate and write": {
		{"truncate", func(s *saving) { s.truncate(0) }, textBefore, true},
		{"first write", func(s *saving) { s.put("/f", "new", 0) }, "new", false},
		{"second write", func(s *saving) { s.put("/f", " text", 3) }, "new text", false},
		{"fsync", func(s *saving) { s.fsync("/f") }, "new text", false},
		{"sent", func(s *saving) { s.send() }, "new text", false},
	},
	"truncate again": {
		{"truncate", func(s *saving) { s.truncate(0) }, textBefore, true},
		{"truncate", func(s *saving) { s.truncate(0) }, textBefore, true},
		{"write", func(s *saving) { s.put("/f", "new", 0) }, "new", false},
		{"truncate", func(s *saving) { s.truncate(0) }, "new", true},
	},
	"emptied and fsynced": {
		{"truncate", func(s *saving) { s.truncate(0) }, textBefore, true},
		{"fsync", func(s *saving) { s.fsync("/f") }, "", false},
	},
	"emptied, rested and sent": {
		{"truncate", func(s *saving) { s.truncate(0) }, textBefore, true},
		{"rest", func(s *saving) { s.rest() }, textBefore, true},
		{"sent", func(s *saving) { s.send() }, "", false},
	},
	"emptied and sent at once by a sync": {
		{"truncate", func(s *saving) { s.truncate(0) }, textBefore, true},
		{"sent", func(s *saving) { s.send() }, textBefore, true},
		{"rest", func(s *saving) { s.rest() }, "", false},
	},
	"the text before is sent while it is emptied": {
		{"truncate", func(s *saving) {
			f := s.describe(s.tree.nodes[s.ino("/f")])
			s.truncate(0)
			_, err := s.BeginSend(Send{Op: OpUpdate, ID: s.base.ID, Path: "/f", SHA: f.SHA, Ino: f.Ino})
			require.NoError(s.t, err)
		}, textBefore, true},
	},
	"cut to a length": {
		{"truncate", func(s *saving) { s.truncate(8) }, textBefore[:8], false},
		{"write", func(s *saving) { s.put("/f", "!", 8) }, textBefore[:8] + "!", false},
	},
	"in place": {
		{"write", func(s *saving) { s.put("/f", "THE", 0) }, "THE" + textBefore[3:], false},
		{"append", func(s *saving) { s.put("/f", ".", int64(len(textBefore))) }, "THE" + textBefore[3:] + ".", false},
		{"truncate", func(s *saving) { s.truncate(0) }, "THE" + textBefore[3:] + ".", true},
	},
	"temporary file and rename": {
		{"create", func(s *saving) {
			a, err := s.Create(Root, "f.tmp", 0o600, 0, 0)
			require.NoError(s.t, err)
			s.Forget(a.Ino, 1)
		}, textBefore, false},
		{"first write", func(s *saving) { s.put("/f.tmp", "new", 0) }, textBefore, false},
		{"second write", func(s *saving) { s.put("/f.tmp", " text", 3) }, textBefore, false},
		{"fsync", func(s *saving) { s.fsync("/f.tmp") }, textBefore, false},
		{"rename", func(s *saving) { s.mv("/f.tmp", "/f") }, "new text", false},
		{"sent", func(s *saving) { s.send() }, "new text", false},
	},
	"backup and rename": {
		{"rename away", func(s *saving) { s.mv("/f", "/f.bak") }, "", false},
		{"create", func(s *saving) {
			a, err := s.Create(Root, "f", 0o600, 0, 0)
			require.NoError(s.t, err)
			s.Forget(a.Ino, 1)
		}, "", false},
		{"write", func(s *saving) { s.put("/f", "new", 0) }, "new", false},
		{"remove backup", func(s *saving) { s.rm("/f.bak") }, "new", false},
	},
}

// TestR16_SavesCutAtEveryStep kills after each step of each way to save, where
// the text before is agreed, agreed with an unsent edit, and was never sent.
func TestR16_SavesCutAtEveryStep(t *testing.T) {
	befores := map[string]func(*saving){
		"sent": func(s *saving) { s.base = s.world.base("m-f", "/f", textBefore) },
		"sent, then edited": func(s *saving) {
			s.base = s.world.base("m-f", "/f", "what the store has")
			s.write("/f", textBefore)
		},
		"edited by rename": func(s *saving) {
			s.base = s.world.base("m-f", "/f", "what the store has")
			s.write("/g", textBefore)
			s.mv("/g", "/f")
		},
		"never sent": func(s *saving) { s.write("/f", textBefore) },
	}
	for before, prepare := range befores {
		for way, steps := range saves {
			for last := range steps {
				for _, checkpoint := range []bool{false, true} {
					name := fmt.Sprintf("%s/%s/%d %s/checkpoint=%t", before, way, last, steps[last].step, checkpoint)
					t.Run(name, func(t *testing.T) { cutAt(t, prepare, steps, last, checkpoint) })
				}
			}
		}
	}
}

func cutAt(t *testing.T, prepare func(*saving), steps []cut, last int, checkpoint bool) {
	core, logged := observer.New(zap.WarnLevel)
	dir := memoryDir(t)
	s := &saving{world: newWorld(t, func(o *Options) { o.Dir, o.Log = dir, zap.New(core) })}
	prepare(s)
	for _, c := range steps[:last+1] {
		c.do(s)
	}
	if checkpoint {
		require.NoError(t, s.Checkpoint())
	}
	live := "absent"
	if a, err := s.Lookup(Root, "f"); err == nil {
		live = s.readIno(a.Ino)
	}
	s.kill()
	want := steps[last]
	got := "absent"
	if a, err := s.Lookup(Root, "f"); err == nil {
		got = s.readIno(a.Ino)
	}
	if live == "absent" {
		assert.Equal(t, "absent", got)
		return
	}
	assert.Equal(t, want.text, got)
	assert.Equal(t, want.warn, logged.FilterMessageSnippet("a save was cut off").Len() > 0, "%v", logged.All())
	assert.Zero(t, logged.FilterLevelExact(zap.ErrorLevel).Len())
	s.kill()
	assert.Equal(t, want.text, s.read("/f"), "killed again")
	// What a kill brought back is to be sent, unless the store has it.
	b, agreed := s.BaseAt("/f")
	known := agreed && b.SHA == store.Hash([]byte(want.text))
	assert.Equal(t, !known, slices.Contains(s.Unsent().Edits, "/f"), "unsent")
}
