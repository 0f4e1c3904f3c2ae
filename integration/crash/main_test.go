//go:build linux

package crash

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// program is the memfs that the tests run and kill; MEMFS_CRASH_PROGRAM names
// one that is built already.
var program = os.Getenv("MEMFS_CRASH_PROGRAM")

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	if program != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "memfs-crash")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program = filepath.Join(dir, "memfs")
	build := exec.Command("go", "build", "-o", program, "memfs/cmd/memfs")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build memfs:", err)
		return 1
	}
	return m.Run()
}
