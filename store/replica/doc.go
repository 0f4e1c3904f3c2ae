// Package replica is one store's working copy on this host: the tree that the
// mount shows, the contents, base (what store and mount last agreed on), and
// the journal by which all of it survives a crash.
//
// There is one road by which anything changes: a method checks the call, writes
// records to the journal, and applies those records to the state in memory.
// Opening a replica applies the records of the journal in the same way, so the
// state is always base plus the replay of the journal.
//
// It knows neither FUSE nor the network. The one exception is content that was
// never needed on this host: reading it calls Options.Fetch, outside every
// lock and with a bound.
package replica
