// Package rehearsal runs a scripted session through a real worker on an
// embedded store, and tells what its tools answered and what reached the store.
package rehearsal
