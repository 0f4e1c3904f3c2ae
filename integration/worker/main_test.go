package worker_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// program is the memfs binary that the tests run.
var program string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "memfs-worker")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Chmod(dir, 0o755); err != nil { // also for tests as another user
		panic(err)
	}
	program = filepath.Join(dir, "memfs")
	build := exec.Command("go", "build", raceFlag, "-o", program, "memfs/cmd/memfs")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build memfs:", err)
		return 1
	}
	return m.Run()
}
