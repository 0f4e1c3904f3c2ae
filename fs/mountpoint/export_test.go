package mountpoint

// Killed is the end of the point's process.
func (p *Point) Killed() error { return p.used.Release() }
