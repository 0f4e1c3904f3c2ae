//go:build linux

package fs

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain is also the way into the child that mounts: a process must not use
// a mount that it serves.
func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(childMain())
	}
	goleak.VerifyTestMain(m)
}
