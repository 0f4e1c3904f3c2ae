//go:build linux

package hostile

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// program is the memfs that is attacked; MEMFS_HOSTILE_PROGRAM names one that is
// built already.
var program = os.Getenv("MEMFS_HOSTILE_PROGRAM")

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	if program != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "memfs-hostile")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Chmod(dir, 0o755); err != nil { // also for tests as another user
		panic(err)
	}
	program = filepath.Join(dir, "memfs")
	build := exec.Command("go", "build", "-o", program, "memfs/cmd/memfs")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build memfs:", err)
		return 1
	}
	return m.Run()
}
