// Package metrics counts what a process does and serves it to Prometheus. The
// names are a contract, listed in docs/OPERATIONS.md.
package metrics
