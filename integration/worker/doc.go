// Package worker tests memfs worker as its users run it: the real program
// polls the embedded store over HTTP, serves sessions whose agents are scripts,
// and is asked what the tools answered, what reached the store, and what was
// left on the host.
package worker
