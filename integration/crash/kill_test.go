//go:build linux

package crash

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/integration/workload"
	"memfs/store"
)

var (
	rounds = flag.Int("crash.rounds", 20, "how often TestKillLoop kills")
	seed   = flag.Uint64("crash.seed", 0, "what TestKillLoop does; 0 takes one from the clock and prints it")
)

// workers is how many directories change at the same time.
const workers = 3

// loop is a host under a workload that is killed again and again.
type loop struct {
	t       *testing.T
	h       *host
	rng     *rand.Rand
	workers []*workload.Worker
	round   int
	starts  []time.Duration
	killed  atomic.Bool
	ended   bool // properly, in this round
}

// TestKillLoop: nothing acknowledged is lost, no mount is left dead, no change
// is sent twice, and in the end mount and store are equal (R3, R16).
func TestKillLoop(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("go test ./integration/crash -run TestKillLoop -crash.rounds %d -crash.seed %d", *rounds, *seed)
	l := &loop{t: t, h: newHost(t), rng: rand.New(rand.NewPCG(*seed, 0))}
	l.h.args = []string{"--allow-mass-delete"}
	for i := range workers {
		l.workers = append(l.workers, workload.NewWorker(l.h.path(fmt.Sprint("w", i)), *seed+uint64(i+1)))
	}
	p := l.h.start()
	for _, w := range l.workers {
		require.NoError(t, os.Mkdir(w.Dir, 0o700))
	}
	for l.round = 0; l.round < *rounds; l.round++ {
		l.work(p)
		require.LessOrEqual(t, l.h.mounts(), 1, "mounts are stacked")
		p = l.h.start()
		l.starts = append(l.starts, p.took)
		l.compare()
		if t.Failed() {
			t.Fatalf("round %d of seed %d\n%s", l.round, *seed, tail(l.h.log()))
		}
	}
	l.h.server.set(nil)
	l.h.server.late.Wait()
	code, _, stderr := l.h.run("sync", l.h.mnt)
	require.Zero(t, code, stderr)
	l.compareStore()
	require.Zero(t, p.stop(), tail(l.h.log()))
	l.compareStore()
	l.checkHistory()
	l.checkLog()
	assert.Zero(t, l.h.mounts())
	assert.NoDirExists(t, l.h.mnt)
	l.report()
}

// work lets the workers work, and kills memfs at a random moment of it or of a
// request; now and then it ends memfs properly.
func (l *loop) work(p *process) {
	l.killed.Store(false)
	gone := sync.OnceFunc(func() {
		l.killed.Store(true)
		p.kill()
	})
	patience := time.Duration(30+l.rng.IntN(1500)) * time.Millisecond
	// Passes come by themselves after a second, and more when asked for.
	syncs := l.rng.IntN(3)
	switch l.rng.IntN(8) {
	case 0, 1, 2, 3: // killed while the answer to a request is awaited
		apply := []func(*http.Request, []byte, func()){atOnce, atOnce, never, l.h.server.later(50 * time.Millisecond), l.h.server.later(2 * time.Second)}
		l.h.server.set(&trap{skip: l.rng.IntN(6), sprung: gone, apply: pick(l.rng, apply)})
		patience, syncs = patience+time.Second, 5
	case 4: // an answer is lost, and memfs lives on for a while
		l.h.server.set(&trap{skip: l.rng.IntN(4), apply: pick(l.rng, []func(*http.Request, []byte, func()){atOnce, never})})
		patience, syncs = patience+time.Second, 5
	case 5:
		patience += 2500 * time.Millisecond
	}
	think := time.Duration(1+l.rng.IntN(60)) * time.Millisecond
	pauses := make([]time.Duration, syncs)
	for i := range pauses {
		pauses[i] = time.Duration(l.rng.Int64N(int64(patience)/int64(syncs) + 1))
	}
	end := l.rng.IntN(12) == 0
	var wait sync.WaitGroup
	for _, w := range l.workers {
		wait.Go(func() {
			for !l.killed.Load() {
				if err := w.Step(); err != nil {
					if !l.killed.Load() {
						l.t.Errorf("%s: %v", w.Dir, err)
					}
					return
				}
				time.Sleep(time.Duration(rand.Int64N(int64(think))))
			}
		})
	}
	wait.Go(func() {
		for _, pause := range pauses {
			time.Sleep(pause)
			if l.killed.Load() {
				return
			}
			_, _, _ = l.h.run("sync", l.h.mnt) // may fail: memfs is killed
		}
	})
	select {
	case <-time.After(patience):
	case <-p.over:
	}
	l.h.server.set(nil)
	l.ended = end && !l.killed.Swap(true)
	if l.ended {
		wait.Wait()
		assert.Zero(l.t, p.stop(), tail(l.h.log()))
		return
	}
	gone()
	wait.Wait()
}

// compare finds each directory in a state that the kill may have left, or, after
// a proper end, what is not local only (R17). The state stays where a request of
// a memfs killed before may still be on its way, and goes elsewhere.
func (l *loop) compare() {
	for _, w := range l.workers {
		found, err := workload.Clean(w.Dir)
		require.NoError(l.t, err)
		if l.ended {
			err = w.SettleSent(found)
		} else {
			err = w.Settle(found)
		}
		assert.NoError(l.t, err)
	}
}

// compareStore compares what the store has with the mount's files.
func (l *loop) compareStore() {
	l.t.Helper()
	want, got := workload.World{}, workload.World{}
	for _, w := range l.workers {
		for name, text := range w.Now().Sent() {
			if !strings.HasSuffix(name, "/") {
				want["/"+filepath.Base(w.Dir)+"/"+name] = text
			}
		}
	}
	for path, m := range l.h.stored() {
		got[path] = string(m.Content)
	}
	if !maps.Equal(want, got) {
		l.t.Errorf("the store has\n%s\nand the mount\n%s\n%s", workload.Describe(got), workload.Describe(want), tail(l.h.log()))
	}
}

// checkHistory finds no change that made two versions, and no text that nobody
// wrote.
func (l *loop) checkHistory() {
	known := map[store.SHA]bool{store.Hash(nil): true}
	for _, w := range l.workers {
		for sha := range w.Texts() {
			known[sha] = true
		}
	}
	versions := 0
	for id, history := range l.h.server.history(l.h.store) {
		for i, v := range history {
			versions++
			if v.Operation == store.Deleted {
				continue
			}
			if !known[v.SHA] { // the beginning of one, sent while it was written?
				whole, err := l.h.client().Version(l.t.Context(), v.ID)
				require.NoError(l.t, err)
				assert.Regexp(l.t, `^[wsedx0-9 <>\n]*$`, string(whole.Content), "%s %s has a text that nobody wrote", id, v.Path)
			}
			if i > 0 {
				before := history[i-1]
				assert.False(l.t, before.SHA == v.SHA && before.Path == v.Path, "%s %s: one change made two versions", id, v.Path)
			}
		}
	}
	l.t.Logf("%d versions in the store", versions)
}

// allowedWarnings are those that a kill explains. Everything else that is said
// louder than info would mean that memfs takes its own changes for somebody
// else's, or worse.
var allowedWarnings = []string{"save_cut_off", "journal_damaged", "send_failed", "unreachable", "server_error", "state_volatile",
	"held"} // a text that was too large, where the kill came before the one that fits

func (l *loop) checkLog() {
	for line := range strings.Lines(l.h.log()) {
		var event struct{ Level, Code string }
		if json.Unmarshal([]byte(line), &event) != nil {
			l.t.Errorf("not a log line: %s", line)
			continue
		}
		if event.Level != "info" && !slices.Contains(allowedWarnings, event.Code) || event.Code == "recreated" {
			l.t.Errorf("unexpected: %s", line)
		}
	}
}

func (l *loop) report() {
	slices.Sort(l.starts)
	n := 0
	for _, w := range l.workers {
		n += w.Written()
	}
	l.t.Logf("%d rounds, about %d texts written; start: median %v, 99th percentile %v, longest %v", len(l.starts), n,
		l.starts[len(l.starts)/2], l.starts[len(l.starts)*99/100], l.starts[len(l.starts)-1])
	assert.Less(l.t, l.starts[len(l.starts)/2], time.Second, "start time")
}

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }

func tail(log string) string {
	lines := strings.Split(log, "\n")
	return strings.Join(lines[max(0, len(lines)-30):], "\n")
}
