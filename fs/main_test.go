//go:build linux || darwin

package fs

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain is also the way into the child that mounts: a process must not use
// a mount that it serves.
func TestMain(m *testing.M) {
	if config := os.Getenv(childEnv); config != "" {
		os.Exit(childMain(config))
	}
	goleak.VerifyTestMain(m)
}
