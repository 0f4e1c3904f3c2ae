package journal

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"memfs/store/replica/disk"
	"memfs/store/replica/disk/disktest"
)

// promise is what must hold for power loss from a moment on: so many records
// were appended, and the first so many of them synced.
type promise struct{ moment, appended, synced int }

// powered is a journal on a recorded disk, with what it promised when.
type powered struct {
	disk     *disktest.Recorder
	j        *Journal
	root     string
	texts    []string
	synced   int
	promises []promise
	// late is called once, while a checkpoint syncs the bulk of the new file.
	late func()
}

// hook records, and lets late have its turn.
func (p *powered) hook(op disk.Op) disk.Fault {
	if late := p.late; late != nil && op.Label == labelNewSync {
		p.late = nil
		late()
	}
	return p.disk.Hook(op)
}

func (p *powered) note() {
	p.promises = append(p.promises, promise{p.disk.Len(), len(p.texts), p.synced})
}

func (p *powered) append(t require.TestingT, size int) {
	text := fmt.Sprintf("%0*d", max(1, size), len(p.texts))
	p.texts = append(p.texts, text) // from here on it may be found
	p.note()
	require.NoError(t, p.j.Append([]byte(text), size < 100))
	p.note()
}

func (p *powered) sync(t require.TestingT) {
	require.NoError(t, p.j.Sync())
	p.synced = len(p.texts)
	p.note()
}

// checkpoint runs one, with appends and perhaps a sync while it writes the
// bulk, and again while it syncs that.
func (p *powered) checkpoint(t require.TestingT, during int, syncToo bool) {
	p.late = func() {
		for range during {
			p.append(t, 500)
		}
		if syncToo {
			p.sync(t)
		}
	}
	c, texts := p.j.BeginCheckpoint(), slices.Clone(p.texts)
	require.NoError(t, c.Commit(func(yield func([]byte) bool) {
		for range during {
			p.append(t, 500)
		}
		if syncToo {
			p.sync(t)
		}
		payloads(texts...)(yield)
	}))
	p.synced = len(p.texts)
	p.note()
}

// loseAt requires the promise of a moment of what power loss may leave then.
func (p *powered) loseAt(t require.TestingT, moment int, random *rand.Rand) {
	i, _ := slices.BinarySearchFunc(p.promises, moment, func(at promise, moment int) int { return at.moment - moment })
	// The last promise at or before the moment is the one that binds; up to
	// what is appended next may be there.
	for i < len(p.promises) && p.promises[i].moment == moment {
		i++
	}
	binding := p.promises[i-1]
	most := binding.appended
	if i < len(p.promises) {
		most = p.promises[i].appended
	}
	image := filepath.Join(filepath.Dir(p.root), "image")
	require.NoError(t, os.RemoveAll(image))
	odds := random.Float64()
	require.NoError(t, p.disk.Image(p.root, image, moment, func() bool { return random.Float64() < odds }))
	dir, err := disk.Open(image, nil)
	require.NoError(t, err)
	var got []string
	_, err = Read(dir, name, func(payload []byte) error { got = append(got, string(payload)); return nil })
	require.NoError(t, err)
	require.NoError(t, dir.Close())
	require.True(t, isPrefix(got, p.texts), "moment %d: %d records, not the first of those appended", moment, len(got))
	require.GreaterOrEqual(t, len(got), binding.synced, "moment %d: synced records are lost", moment)
	require.LessOrEqual(t, len(got), most, "moment %d", moment)
}

func TestR3_PowerLossKeepsWhatWasSynced(t *testing.T) {
	root := filepath.Join(tempDir(t), "state")
	rapid.Check(t, func(rt *rapid.T) {
		require.NoError(rt, os.RemoveAll(root))
		p := &powered{disk: disktest.NewRecorder(), root: root}
		dir, err := disk.Open(root, p.hook)
		require.NoError(rt, err)
		p.j, err = Create(dir, name, header, none, Options{SyncAfter: 1 << 62})
		require.NoError(rt, err)
		p.note()
		created := p.disk.Len()
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			switch rapid.SampledFrom([]string{"append", "append", "append", "sync", "checkpoint"}).Draw(rt, "step") {
			case "append":
				p.append(rt, rapid.SampledFrom([]int{1, 50, 600, 3000, 20_000}).Draw(rt, "size"))
			case "sync":
				p.sync(rt)
			case "checkpoint":
				p.checkpoint(rt, rapid.IntRange(0, 3).Draw(rt, "during"), rapid.Bool().Draw(rt, "sync"))
			}
		}
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		for range 2 {
			p.loseAt(rt, rapid.IntRange(created, p.disk.Len()).Draw(rt, "moment"), random)
		}
		require.NoError(rt, p.j.Close())
		require.NoError(rt, dir.Close())
	})
}

// The recorder must be able to lose something, or the test above proves
// nothing.
func TestPowerLossLosesWhatWasNotSynced(t *testing.T) {
	recorder := disktest.NewRecorder()
	root := filepath.Join(tempDir(t), "state")
	dir := openDir(t, root, recorder.Hook)
	j, err := Create(dir, name, header, none, Options{})
	require.NoError(t, err)
	defer func() { assert.NoError(t, j.Close()) }()
	appendAll(t, j, "synced")
	require.NoError(t, j.Sync())
	appendAll(t, j, "lost")
	lose := func(keep bool) []string {
		image := filepath.Join(tempDir(t), "image")
		require.NoError(t, recorder.Image(root, image, recorder.Len(), func() bool { return keep }))
		texts, _ := replay(t, image)
		return texts
	}
	assert.Equal(t, []string{"synced"}, lose(false))
	assert.Equal(t, []string{"synced", "lost"}, lose(true))
}
