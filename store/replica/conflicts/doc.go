// Package conflicts is the conflict area: the texts that lost against the
// store (R7), kept as plain files until they are restored, dropped, redacted
// or too old.
//
// An entry is two files named by the entry's id, one with the text and one
// with what is known about it. No name is made from a store's paths. The text
// is written last and removed first, so that there is an entry exactly where
// there is a text.
package conflicts
