// Package library shows package memfs as a library: stores attached, a tool of
// one's own run on them, and everything taken down again.
package library
