// Package program builds memfs for the tests of a package that run the real
// program, as a user has it.
package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Env names a memfs that is built already, which is used then.
const Env = "MEMFS_TEST_PROGRAM"

// Run builds memfs, says where it is, and runs a package's tests. flags are
// more of go build. It returns the exit code.
func Run(m *testing.M, use func(path string), flags ...string) int {
	if built := os.Getenv(Env); built != "" {
		use(built)
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "memfs-program")
	if err != nil {
		fmt.Fprintln(os.Stderr, "build memfs:", err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "memfs")
	build := exec.Command("go", append(append([]string{"build", "-o", path}, flags...), "memfs/cmd/memfs")...)
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build memfs:", err)
		return 1
	}
	use(path)
	return m.Run()
}
