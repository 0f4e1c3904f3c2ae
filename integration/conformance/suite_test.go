package conformance

import (
	"slices"
	"testing"
)

// check is one thing that a server must do. It runs with a store of its own,
// empty at the start.
type check struct {
	name string
	// full: needs more than memories and the reading of versions, or is about a
	// choice that the API leaves open and that store/local makes.
	full bool
	// queue: needs sessions and the work queue.
	queue bool
	run   func(*testing.T, *client)
}

func TestConformance(t *testing.T) {
	server := startTarget(t)
	ran := 0
	for _, c := range slices.Concat(
		createChecks(), getChecks(), listChecks(), depthChecks(), pageChecks(), updateChecks(), renameChecks(), deleteChecks(),
		versionChecks(), filterChecks(), redactChecks(), storeChecks(), archiveChecks(), protocolChecks(), raceChecks(),
		sessionChecks(), workChecks(),
	) {
		if c.full && !server.full() || c.queue && server.environmentKey == "" {
			continue
		}
		ran++
		t.Run(c.name, func(t *testing.T) { c.run(t, server.client(t)) })
	}
	t.Logf("%d checks", ran)
}
