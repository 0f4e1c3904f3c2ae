// Package local is the embedded store: the memory-store API (stores, memories
// and memory versions) served over one SQLite database in one directory.
//
// It answers as the API does, so the same client talks to both, over HTTP or,
// with a transport that calls the handler, within one process. What a store
// accepts is decided by the rules of package store. Where the API leaves
// something open, this server chooses the stricter answer that a client can
// recover from.
//
// Every change is one transaction that is on disk before it is answered. Any
// number of processes may open the same directory at once.
package local
