// Package local is the embedded store: the memory-store API (stores, memories
// and memory versions) served over one SQLite database in one directory, and,
// so that a whole worker can be rehearsed without the service, sessions with
// scripted agents and the work queue of their environments.
//
// It answers as the API does, so the same client talks to both, over HTTP or,
// with a transport that calls the handler, within one process. What a store
// accepts is decided by the rules of package store. Where the API leaves
// something open, this server chooses the stricter answer that a client can
// recover from.
//
// Every change of a store is one transaction that is on disk before it is
// answered. Any number of processes may open the same directory at once.
//
// Sessions, their events and the queue are in the memory of one Server: another
// process does not see them, and with the Server they are gone, though not what
// they wrote. A worker that is still at one then finds its token refused (401)
// and the work item unknown (404), and lets go. Until then ended sessions stay
// readable.
//
// The agent of a session is a Script: tool calls, each made when the one before
// has its result, and the skills that the agent has. It comes with the request that makes the session, as
// "memfs_script", or from this process with StartSession and Session.Call.
package local
