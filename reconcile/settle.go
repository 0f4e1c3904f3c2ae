package reconcile

import (
	"slices"

	"memfs/store"
	"memfs/store/replica"
)

// settle decides, from what the store has now, what became of the sends whose
// answer was lost, and moves base accordingly. A send is believed to have been
// applied where the store has exactly what it would have made; it is not looked
// at again, so that the same content written by somebody else later is not taken
// for ours.
func (p *planner) settle() {
	for _, s := range p.in.Local.Sends {
		if p.in.Policy.InFlight[s.Seq] {
			continue
		}
		apply := p.outcome(s, p.memories[s.ID])
		p.res.Settle = append(p.res.Settle, Settlement{Seq: s.Seq, Apply: apply})
		switch {
		case apply == nil:
		case apply.Base == nil:
			delete(p.memories, s.ID)
		default:
			p.rebase(apply)
		}
	}
}

// outcome is the step that moves base to what s made; nil if s was not applied.
func (p *planner) outcome(s replica.Send, m *replica.Memory) *replica.Apply {
	if s.Op == replica.OpCreate {
		id, found := p.in.View.At(s.Path)
		remote := p.in.Remote[id]
		if !found || remote == nil || remote.SHA != s.SHA {
			return nil
		}
		base := replica.BaseOf(*remote)
		return &replica.Apply{ID: id, Base: &base, Ino: s.Ino}
	}
	if m == nil {
		return nil
	}
	remote, changed := p.in.Remote[s.ID]
	if !changed {
		return nil
	}
	if s.Op == replica.OpDelete {
		if remote != nil {
			return nil
		}
		return &replica.Apply{ID: s.ID}
	}
	content := !s.SHA.IsZero() && remote != nil && remote.SHA == s.SHA
	path := s.Path != "" && remote != nil && remote.Path == s.Path
	if !content && !path {
		return nil
	}
	base := agreed(m.Base, *remote, content, path)
	return &replica.Apply{ID: s.ID, Base: &base, Ino: s.Ino}
}

// unsettled reports whether the outcome of a send was looked for and not found, not in
// a listing either, and nothing is sent that would meet it: its file went, or is
// again as before. The versions need not show what it made: the store's clock may
// have been set back meanwhile.
func (p *planner) unsettled(s replica.Send) bool {
	listed := !s.Missed.IsZero() && p.in.Listed.After(s.Missed)
	if listed || p.in.Policy.InFlight[s.Seq] {
		return false
	}
	open := slices.ContainsFunc(p.res.Settle, func(x Settlement) bool { return x.Seq == s.Seq && x.Apply == nil })
	return open && !slices.ContainsFunc(p.res.Sends, func(a Action) bool {
		return a.ID == s.ID && (s.Op != replica.OpCreate || a.Path == s.Path)
	})
}

// agreed is the base after an update that left the memory as remote. What the
// update did not send, content or path, and the store has changed, base keeps
// as it was: that is still to be pulled.
func agreed(old replica.Base, remote store.Memory, content, path bool) replica.Base {
	base := replica.BaseOf(remote)
	if !content && remote.SHA != old.SHA {
		base.VersionID, base.SHA, base.Size = old.VersionID, old.SHA, old.Size
	}
	if !path {
		base.Path = old.Path
	}
	return base
}

// rebase gives a memory the base that a settlement moves it to, and finds its
// files again.
func (p *planner) rebase(apply *replica.Apply) {
	m := p.memories[apply.ID]
	if m == nil {
		m = &replica.Memory{}
		p.memories[apply.ID] = m
	}
	m.Base, m.At = *apply.Base, nil
	for _, f := range p.files {
		if f.Path == m.Base.Path {
			m.At = f
		}
		if f.Ino == apply.Ino {
			p.carry(m, f)
		}
	}
}

// carry makes f the file that carries m's id, and none but that.
func (p *planner) carry(m *replica.Memory, f *replica.File) {
	if old := p.memories[f.MemoryID]; old != nil && old.Carrier == f {
		old.Carrier = nil
	}
	if m.Carrier != nil && m.Carrier != f {
		m.Carrier.MemoryID = ""
	}
	f.MemoryID, m.Carrier = m.Base.ID, f
}
