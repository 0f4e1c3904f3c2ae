// Package worker serves the sessions of a self-hosted environment: it claims
// work items, attaches the stores of each session, runs the agent's tools on
// the mounts, and detaches.
//
// Poll claims items and serves each in a process of its own, which calls
// Serve: one session cannot disturb another, each can have its own mount
// namespace, and what the agent's commands leave behind can be found and
// killed. The tools run in a further process, see package toolbox.
//
//	poll ── item on stdin ──► run: lease, mounts, passes ── orders ──► tools
package worker
