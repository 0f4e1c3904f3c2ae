package main

// The import is there for its path: it is what a build for Windows says.
import _ "memfs/cmd/memfs/internal/memfs_needs_linux_or_macos"
