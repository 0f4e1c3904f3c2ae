// Package converge proves, with real mounts over real HTTP, what becomes of a
// store that several hosts use at once or that does not do as it should: two
// mounts that edit the same files converge and lose nothing, a read-only mount
// changes nothing, and the states of a store (full, archived, credential
// refused, a request that hangs) hold back no more than they must.
//
// The two mounts are edited for 20 seconds; more with
//
//	go test ./integration/converge -run Converge -converge.for 5m -converge.seed 7
package converge
