// Package crash holds tests that kill memfs and look at what is left: the real
// program serves real mounts of an embedded store over HTTP, and the test, which
// is another process, keeps account of what was acknowledged.
//
// TestKillLoop is the long one. It kills at random moments of a random workload,
// for as many rounds as -crash.rounds says, and prints the seed that makes it do
// the same again (-crash.seed).
package crash
