//go:build !windows

// Package memfs_needs_linux_or_macos is empty, and on Windows it is not there:
// a build for Windows ends at once, with this name as its message.
package memfs_needs_linux_or_macos
