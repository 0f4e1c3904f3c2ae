//go:build !linux

package main

import "os"

// self is this program.
func self() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}
