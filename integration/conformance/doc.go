// Package conformance holds one suite of tests that any server of the
// memory-store API, and of the work queue, must pass. Its client is the official Go SDK, so that what
// it proves holds for real clients.
//
// Without settings it serves store/local on the loopback interface and runs
// everything. The environment chooses another server:
//
//	MEMFS_CONFORMANCE_URL     the base URL of a running server
//	MEMFS_CONFORMANCE_KEY     the credential for it
//	MEMFS_CONFORMANCE_ENVIRONMENT, MEMFS_CONFORMANCE_ENVIRONMENT_KEY
//	                          an environment of it that nobody else serves, and
//	                          its key; without them the sessions and the work
//	                          queue are not checked
//	MEMFS_CONFORMANCE_STORES  comma-separated ids of empty stores to use up, one
//	                          a check. Then only memories and the reading of
//	                          versions are checked: stores are neither made nor
//	                          deleted.
//	MEMFS_FAKESTORE           a Python program that serves memories and versions
//	                          on the port that is its argument, with the stores
//	                          that the variable STORES names; it is started, by
//	                          PYTHON if that is set, and ended by the suite
package conformance
