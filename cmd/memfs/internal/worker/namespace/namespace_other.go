//go:build !linux

package namespace

import (
	"errors"
	"os/exec"
)

// ErrCover says that a directory cannot be covered.
var ErrCover = errors.New("this system has no mount namespaces")

// Isolate does nothing.
func Isolate(*exec.Cmd) {}

// Leave does nothing.
func Leave(*exec.Cmd) error { return nil }

// Enter fails.
func Enter([]string) error { return ErrCover }

// Cover fails.
func Cover(string, ...string) error { return ErrCover }
