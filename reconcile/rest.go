package reconcile

import (
	"time"

	"memfs/store/replica"
)

// rest holds back what changed a moment ago (R4). It applies to both
// directions: nothing is pulled over a file that is being written (R5).
func (p *planner) rest(u *unit) {
	if p.in.Policy.Everything || u.step == settled {
		return
	}
	due := u.restsUntil(p.in.Policy, p.now)
	if due.After(p.now) {
		u.hold, u.due = Resting, due
	} else if u.local != nil && u.local.Emptied && !u.local.Written.After(p.now) {
		p.res.Emptied = append(p.res.Emptied, *u.local)
	}
}

// restsUntil is when the unit is at rest. What is dirty for two intervals in
// which passes came through is due whatever happens to it, but for a file that
// was emptied: what follows is still to be written.
func (u *unit) restsUntil(o Policy, now time.Time) time.Time {
	if u.local == nil {
		return settles(u.touched, u.first, o, now)
	}
	due := settles(later(u.local.Written, u.local.Moved), u.local.DirtySince, o, now)
	if u.local.Emptied && !u.local.Written.After(now) {
		due = later(due, u.local.Written.Add(max(2*o.Interval, replica.EmptyRest)))
	}
	return due
}

// settles is when something that last changed at last, and has differed since
// since, is at rest. A time in the future means that the clock was set back;
// nothing rests by such a time.
func settles(last, since time.Time, o Policy, now time.Time) time.Time {
	if last.IsZero() || last.After(now) {
		return now
	}
	due := last.Add(replica.Quiet)
	if since.IsZero() {
		return due
	}
	if !o.Steady.After(now) {
		since = later(since, o.Steady)
	}
	return earlier(due, since.Add(2*o.Interval))
}
