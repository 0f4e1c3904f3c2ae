//go:build linux

// Command benchsync measures memfs against the official SDK's own memory sync
// (SessionMemoryStores of its package lib/environments), in one run: the same
// store of 2,000 memories, the same injected latency, one after the other. It
// prints one table with the ratio of every row beside the targets, and the
// same as JSON.
//
// The store is an embedded one in a child process, behind a handler that counts
// requests and takes its time for each. Each of the two peers is a child, too:
// what it costs is its own user and system time. The files are used by the
// parent, as an agent's tools would.
//
//	go run ./integration/benchsync
//	go run ./integration/benchsync -latency 20ms -passes 9 -json result.json
//
// The official sync does nothing within 5 seconds of the sync before, which is
// waited for and not counted; most of a run's time goes there.
package main
