//go:build windows

package fs

// The build fails here, with the reason as its message.
var _ = memfs_needs_FUSE_and_runs_on_Linux_and_macOS_only
