// Package daemon runs a command in the background: the same program once more,
// as the leader of a session of its own, where the one that was called returns
// when the other says that it is ready.
package daemon
