// Package objects keeps contents in files named by their SHA-256: what the
// records of a journal build on, and what was fetched from the store.
//
// An object is either whole or missing: its hash is verified whenever it is
// read. Objects reach the disk for certain with Sync, which the journal calls
// before its own. The directory may be wiped while the store is open: what was
// in it is missing then, and the next Put makes the directory anew.
package objects
