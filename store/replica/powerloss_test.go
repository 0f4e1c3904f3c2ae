package replica

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"memfs/store/replica/disk/disktest"
)

// powered is a replica on a recorded disk: for each file the texts that it had,
// oldest first, with the moments at which each was begun and was synced.
type powered struct {
	*world
	disk  *disktest.Recorder
	texts map[string][]*moment
}

type moment struct {
	text string
	// begun is when it may first be found, synced from when nothing older may
	// be; -1 never.
	begun, synced int
}

// unreadable is a content that only the store may still have.
const unreadable = "\x00unreadable"

func (p *powered) begin(path, text string) {
	p.texts[path] = append(p.texts[path], &moment{text: text, begun: p.disk.Len(), synced: -1})
}

// fsync promises all that was done before.
func (p *powered) fsync(ino Ino) {
	require.NoError(p.t, p.Fsync(ino))
	for _, texts := range p.texts {
		for _, m := range texts {
			if m.synced < 0 {
				m.synced = p.disk.Len()
			}
		}
	}
}

// allowed are the texts that a file may have after power loss at a moment: the
// last synced one and all that came after it.
func (p *powered) allowed(path string, at int) []string {
	var out []string
	for _, m := range p.texts[path] {
		if m.begun > at {
			break
		}
		if m.synced >= 0 && m.synced <= at {
			out = nil
		}
		out = append(out, m.text)
	}
	return out
}

func (p *powered) save(path, text string, random *rand.Rand) {
	if len(p.texts[path]) == 0 {
		p.texts[path] = []*moment{{text: absent, begun: 0, synced: 0}}
		p.begin(path, "")
	}
	switch random.IntN(3) {
	case 0: // in place, in two pieces
		half := len(text) / 2
		p.begin(path, text[:half])
		p.begin(path, text)
		ino := p.write(path, text[:half])
		_, err := p.Write(context.Background(), ino, []byte(text[half:]), int64(half))
		require.NoError(p.t, err)
	case 1: // through a temporary file
		p.write("/temp", text)
		p.begin(path, text)
		p.mv("/temp", path)
	case 2: // removed and made anew
		if a, err := p.Lookup(Root, path[1:]); err == nil {
			p.Forget(a.Ino, 1)
			p.begin(path, absent)
			p.rm(path)
			p.begin(path, "")
		}
		p.begin(path, text)
		p.write(path, text)
	}
}

// patch changes some bytes of a memory that was never needed here: what the
// journal says builds on the content that is fetched for it.
func (p *powered) patch(path, text string) {
	b := p.base("mem_"+path[1:], path, text)
	patched := "PATCH" + text[5:]
	p.texts[path] = []*moment{{text: absent, begun: 0, synced: 0}, {text: "", begun: 0, synced: -1}, {text: text, begun: 0, synced: -1}}
	p.begin(path, patched)
	_, err := p.Write(context.Background(), p.ino(b.Path), []byte("PATCH"), 0)
	require.NoError(p.t, err)
}

// TestR3_PowerLossKeepsWhatWasSynced writes at random, and looks at what power
// loss at many moments can have left: all that was fsynced is there.
func TestR3_PowerLossKeepsWhatWasSynced(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { losePower(t, seed) })
	}
}

func losePower(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	top := memoryDir(t)
	root := filepath.Join(top, "state")
	p := &powered{disk: disktest.NewRecorder(), texts: map[string][]*moment{}}
	p.world = newWorld(t, func(o *Options) { o.Dir, o.Hook = root, p.disk.Hook }, func(*Options) { require.NoError(t, os.Mkdir(root, 0o700)) })
	opened := p.disk.Len()
	for i := range 40 {
		path := fmt.Sprint("/", random.IntN(4))
		text := fmt.Sprintf("%d %s", i, strings.Repeat("x", 10+random.IntN(3000)))
		if random.IntN(4) == 0 {
			path = fmt.Sprint("/memory", i)
			p.patch(path, text)
		} else {
			p.save(path, text, random)
		}
		switch random.IntN(6) {
		case 0, 1:
			p.fsync(p.ino(path))
		case 2:
			p.fsync(Root)
		case 3:
			require.NoError(t, p.Checkpoint())
		}
	}
	last := p.disk.Len()
	require.NoError(t, p.shut())
	for i := range 30 {
		at := opened + random.IntN(last-opened+1)
		image := filepath.Join(top, fmt.Sprint("image", i))
		likely := random.Float64()
		require.NoError(t, p.disk.Image(root, image, at, func() bool { return random.Float64() < likely }))
		p.checkImage(image, at)
		require.NoError(t, os.RemoveAll(image))
	}
}

func (p *powered) checkImage(image string, at int) {
	o := p.o
	o.Dir, o.Hook = image, nil
	o.Fetch = nil
	found := &world{t: p.t, o: o}
	found.open()
	defer func() { require.NoError(p.t, found.shut()) }()
	for path := range p.texts {
		got := absent
		if a, err := found.Lookup(Root, path[1:]); err == nil {
			text := make([]byte, 1<<16)
			n, err := found.Read(context.Background(), a.Ino, text, 0)
			if got = string(text[:n]); err != nil {
				got = unreadable
			}
			found.Forget(a.Ino, 1)
		}
		allowed := p.allowed(path, at)
		if strings.HasPrefix(path, "/memory") && len(allowed) > 1 {
			allowed = append(allowed, unreadable) // the store has it; see TestReloadAsksTheStore
		}
		if !slices.Contains(allowed, got) {
			p.t.Fatalf("%s after power loss at %d is %.60q, not one of %.60q", path, at, got, allowed)
		}
	}
}

// Power loss before a sync may take a content and leave what was written on it.
func TestReloadAsksTheStore(t *testing.T) {
	w := newWorld(t)
	b := w.base("mem", "/memory", "text of the memory")
	_, err := w.Write(context.Background(), w.ino("/memory"), []byte("TEXT"), 0)
	require.NoError(t, err)
	require.NoError(t, w.objects.Remove(b.SHA))
	w.kill()
	require.Equal(t, "TEXT of the memory", w.read("/memory"))

	clear(w.texts)
	w.write("/other", "still here")
	b = w.base("mem2", "/second", "text of the second")
	_, err = w.Write(context.Background(), w.ino("/second"), []byte("TEXT"), 0)
	require.NoError(t, err)
	require.NoError(t, w.objects.Remove(b.SHA))
	clear(w.texts)
	w.kill()
	_, err = w.Read(context.Background(), w.ino("/second"), make([]byte, 10), 0)
	require.ErrorIs(t, err, ErrDamaged)
	require.Equal(t, "still here", w.read("/other"))
}
