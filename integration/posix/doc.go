// Package posix proves that programs cannot tell a mount from a disk, but where
// docs/SEMANTICS.md says so: with go-fuse's own suite, random operations
// against a model and against a disk, real programs, one test for each row of
// docs/SEMANTICS.md, and readers and writers while the store changes.
package posix
