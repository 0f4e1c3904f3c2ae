// Package store is memfs's domain: memories, their versions, the rules for
// their paths and contents, the errors a store can answer with, and the small
// client through which everything else talks to one store.
//
// It knows nothing of HTTP, of FUSE or of the local disk. The rules it states
// are those of the memory-store API; where one of them has a number or an odd
// edge, the comment names the part of the API it comes from.
package store
