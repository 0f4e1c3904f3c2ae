// Package guard protects stores from tools and tools from surprises: which
// paths a tool may read and write (Guard), the marker that ties a directory to
// its store, and whether this host can mount at all (Doctor).
//
// A Guard is advice to a well-behaved tool, checked before the tool acts. It
// does not confine a shell: a read-only store that must hold against anything
// is mounted with read-only mode strict.
package guard
