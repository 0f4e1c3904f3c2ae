package reconcile

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/semaphore"

	"memfs/store"
	"memfs/store/replica"
)

// The sync interval (R4).
const (
	DefaultInterval = 15 * time.Second
	MinInterval     = time.Second
)

// maxSends is how many changing requests of one store are in flight at once (R4).
const maxSends = 32

// Options are the settings of one store's reconciliation.
type Options struct {
	// Interval is the time between passes; 0 is DefaultInterval, and less than
	// MinInterval is MinInterval.
	Interval time.Duration
	// Deletions says whether local deletes are sent (R8).
	Deletions Deletions
	// AllowMassDelete turns the mass-delete guard off.
	AllowMassDelete bool
	// MaxMemories is the store's cap; 0 is store.DefaultMaxMemories.
	MaxMemories int
	// NoHydrate leaves contents in the store until they are read.
	NoHydrate bool
	// Slots bounds the changing requests of several stores together; nil does
	// not.
	Slots *semaphore.Weighted
	// Log gets one line an event; nil logs nothing.
	Log *zap.Logger
}

func (o *Options) fill() {
	if o.Interval == 0 {
		o.Interval = DefaultInterval
	}
	o.Interval = max(o.Interval, MinInterval)
	if o.MaxMemories == 0 {
		o.MaxMemories = store.DefaultMaxMemories
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
}

// Reconciler brings one store and its replica together. Its methods may be
// called from any goroutine; passes go one at a time.
type Reconciler struct {
	o       Options
	replica *replica.Replica
	reads   reads
	writes  *writes // nil where the store is read-only (R10)
	view    *View
	learner *learner
	tell    *teller
	count   atomic.Int64

	pass chan struct{} // held by the one pass that goes on

	mu    sync.Mutex
	state state
	line  line
}

// state is what a pass has to remember of earlier ones besides view and base.
// It is lost with the process, at the price of asking the store again.
type state struct {
	refused  map[string]Refusal
	split    map[string]string
	archived bool
	denials  denials
	full     fullness
	// waiting: something is held until the store has room.
	waiting bool
	// sends are those begun and not settled: 0 while the request goes on, else
	// the epoch in which its outcome stayed unknown.
	sends map[uint64]sending
	epoch int
	// going counts the requests that go on; idle is closed when none do.
	going int
	idle  chan struct{}
	// lookedAt is the last memory that was looked at for redactions, where there
	// are too many for one time.
	lookedAt string
}

type sending struct {
	id    string
	ended int
}

// New makes the reconciler of a replica and its store. A store given as a
// store.Client is written to; one given as a mere store.Reader never is, and
// nor is the store of a read-only replica.
func New(r *replica.Replica, remote store.Reader, o Options) *Reconciler {
	o.fill()
	info := r.Store()
	rec := &Reconciler{o: o, replica: r, view: NewView(), tell: newTeller(o.Log, info.ID)}
	rec.reads = reads{Reader: remote, count: &rec.count}
	if client, writable := remote.(store.Client); writable && !r.ReadOnly() {
		rec.writes = &writes{client: client, reads: rec.reads}
	}
	rec.learner = &learner{reader: rec.reads, view: rec.view, bases: r.Bases, now: time.Now,
		seen: map[string]time.Time{}, dead: map[string]time.Time{}}
	rec.state = state{refused: map[string]Refusal{}, split: map[string]string{}, sends: map[uint64]sending{},
		archived: info.Archived()}
	rec.pass = make(chan struct{}, 1)
	rec.line.kick, rec.line.pulled = make(chan struct{}, 1), make(chan struct{}, 1)
	rec.line.steady = time.Now()
	return rec
}

// Hidden is how many memories of the store cannot be shown as files (R12).
func (r *Reconciler) Hidden() int { return r.view.Hidden() }

// policy is the present policy of a plan in a pass in which the store has
// refused some creates already.
func (r *Reconciler) policy(o PassOptions, refused int) Policy {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.state
	p := Policy{ReadOnly: r.writes == nil, Archived: s.archived, Everything: o.Everything, Interval: r.o.Interval,
		Steady: r.line.steady, Deletions: r.o.Deletions, AllowDeletes: o.AllowDeletes, NoGuard: r.o.AllowMassDelete,
		MaxMemories: r.o.MaxMemories, Refused: map[string]Refusal{}, InFlight: map[uint64]bool{}, Split: maps.Clone(s.split)}
	if r.line.failures > 0 {
		p.Steady = time.Now() // this may be the first one again
	}
	probes := 1
	if o.Everything {
		probes = maxProbes
	}
	if !r.atCap() {
		p.Room = s.full.room(r.view.Len(), probes-refused, time.Now())
	}
	for path, refusal := range s.refused {
		p.Refused[path] = refusal
	}
	for seq := range s.sends {
		p.InFlight[seq] = true
	}
	return p
}

// inFlight are the memories with a request going on.
func (r *Reconciler) inFlight() map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := map[string]bool{}
	for _, s := range r.state.sends {
		if s.ended == 0 && s.id != "" {
			ids[s.id] = true
		}
	}
	return ids
}
