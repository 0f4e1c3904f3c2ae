//go:build linux

package soak

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/stretchr/testify/assert"

	"memfs/integration/smalldisk"
	"memfs/integration/soak/proxy"
)

// weathers are what the proxy may have, for some seconds each.
var weathers = map[string]proxy.Weather{
	"clear":         {},
	"slow":          {Latency: 800 * time.Millisecond},
	"stalls":        {Latency: 100 * time.Millisecond, Stalled: 0.1, StallFor: 12 * time.Second},
	"429 storm":     {Limited: 0.8},
	"529 storm":     {Overloaded: 0.8, Latency: 50 * time.Millisecond},
	"failing":       {Failing: 0.4, Latency: 50 * time.Millisecond},
	"cut":           {Cut: 0.4, Latency: 50 * time.Millisecond},
	"lost answers":  {Lost: 0.4, Late: 0.1, Latency: 50 * time.Millisecond},
	"partial":       {Partial: 0.4},
	"outage":        {Cut: 1},
	"lacking":       {Lacking: 0.4, Latency: 50 * time.Millisecond},
	"all of it":     {Latency: 300 * time.Millisecond, Stalled: 0.02, StallFor: 5 * time.Second, Limited: 0.05, Overloaded: 0.05, Failing: 0.05, Cut: 0.05, Lost: 0.1, Late: 0.05, Partial: 0.05, Lacking: 0.1},
	"all of it too": {Latency: 100 * time.Millisecond, Limited: 0.02, Cut: 0.02, Lost: 0.1, Late: 0.1, Lacking: 0.05},
}

// storm lets the weather be bad for a while.
func (w *world) storm(rng *rand.Rand, d time.Duration) {
	w.calm.Store(false)
	end := time.Now().Add(d)
	var actors sync.WaitGroup
	seeds := [4]uint64{rng.Uint64(), rng.Uint64(), rng.Uint64(), rng.Uint64()}
	for i, act := range []func(*rand.Rand, time.Time){w.change, w.endings, w.fill, w.setClock} {
		actors.Go(func() { act(rand.New(rand.NewPCG(seeds[i], 0)), end) })
	}
	actors.Wait()
	w.server.tell(order{Clear: true})
}

// until sleeps for a random time, and says whether there is still time.
func (w *world) until(rng *rand.Rand, end time.Time, least, most time.Duration) bool {
	d := least + time.Duration(rng.Int64N(int64(most-least)))
	time.Sleep(min(d, time.Until(end)))
	return time.Now().Before(end) && !w.over()
}

// change changes the weather.
func (w *world) change(rng *rand.Rand, end time.Time) {
	names := sorted(weathers)
	for more := true; more; more = w.until(rng, end, 2*time.Second, 8*time.Second) {
		name := names[rng.IntN(len(names))]
		w.note("weather: %s", name)
		w.blow(weathers[name])
	}
	w.blow(proxy.Weather{})
}

// blow makes a weather.
func (w *world) blow(weather proxy.Weather) {
	if weather.Lacking > 0 {
		w.lacked.Store(math.MaxInt64)
	} else {
		w.lacked.CompareAndSwap(math.MaxInt64, time.Now().UnixNano())
	}
	w.server.weather(weather)
}

// endings kills or stops one process after the other, and starts it again.
func (w *world) endings(rng *rand.Rand, end time.Time) {
	for w.until(rng, end, time.Second, 5*time.Second) {
		p := w.processes[rng.IntN(len(w.processes))]
		if p.steady {
			continue
		}
		if rng.IntN(4) == 0 {
			code, err := p.stop()
			w.note("%v stopped: %d", p, code)
			assert.NoError(w.t, err)
			assert.Contains(w.t, []int{0, 6}, code, "%v", p)
		} else {
			w.note("%v killed", p)
			p.kill()
		}
		pause(rng, 2*time.Second)
		w.restart(p)
	}
}

// restart starts a process as often as it takes: in an outage or with a full
// disk it may not start.
func (w *world) restart(p *process) {
	for began := time.Now(); ; {
		err := p.start()
		for _, m := range p.mounts {
			n, _, table := stacked(m.path)
			assert.NoError(w.t, table)
			assert.LessOrEqual(w.t, n, 1, "%v: mounts are stacked", p)
		}
		if err == nil {
			w.note("%v started", p)
			return
		}
		w.note("%v", err)
		if time.Since(began) > hangMost {
			w.t.Errorf("%v; its log ends:\n%s", err, p.last())
			return
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// disk is the small disk that can be full.
type disk struct{ dir string }

func (w *world) fill(rng *rand.Rand, end time.Time) {
	for w.disk != nil && w.until(rng, end, 5*time.Second, 15*time.Second) {
		room, err := smalldisk.Fill(w.disk.dir)
		if !assert.NoError(w.t, err) {
			return
		}
		w.note("disk full")
		w.until(rng, end, time.Second, 6*time.Second)
		assert.NoError(w.t, room())
		w.note("disk free")
	}
}

// setClock sets the server's clock forth and back.
func (w *world) setClock(rng *rand.Rand, end time.Time) {
	for w.until(rng, end, 3*time.Second, 12*time.Second) {
		d := time.Duration(rng.Int64N(int64(4*time.Minute))) - 2*time.Minute
		w.note("the stores' clock: %v", d.Round(time.Second))
		w.server.clock(d)
	}
}

// note says what happens.
func (w *world) note(format string, args ...any) {
	w.t.Logf("%s %s", time.Now().Format(time.TimeOnly+".000"), fmt.Sprintf(format, args...))
}
