package guard

import "context"

// Options say what the host is to be ready for.
type Options struct {
	// Root is the directory below which stores are mounted, such as
	// /mnt/memory.
	Root string
	// StateDir is where replicas are kept; "" leaves it out.
	StateDir string
	// AllowOther asks whether other users can be let into the mounts.
	AllowOther bool
}

// Doctor reports whether this host is ready. It changes nothing that stays: as
// root it makes one mount on a temporary directory and takes it back.
func Doctor(ctx context.Context, o Options) Report { return Judge(Probe(ctx, o), o) }

// Judge turns facts into a report. It looks at nothing else.
func Judge(f Facts, o Options) Report {
	r := Report{Blockers: []string{}}
	// need adds checks that a verdict rests on, and reports whether all passed.
	need := func(checks ...Check) bool {
		passed := true
		for _, c := range checks {
			r.Checks = append(r.Checks, c)
			if c.Status == Fail {
				r.Blockers = append(r.Blockers, c.Name)
				passed = false
			}
		}
		return passed
	}
	var fuse bool
	if f.OS == "darwin" {
		fuse = need(kernel(f), macFUSE(f))
	} else {
		fuse = need(kernel(f), container(f), device(f), privileges(f), confinement(f), allowOther(f, o), namespaces(f))
	}
	place := need(mountRoot(f), stale(f))
	if o.StateDir != "" {
		fuse = need(state(f)) && fuse
	}
	switch {
	case fuse && place:
		r.Verdict = VerdictFUSE
	case place:
		r.Verdict = VerdictDirectorySync
	default:
		r.Verdict = VerdictCannotRun
	}
	return r
}
