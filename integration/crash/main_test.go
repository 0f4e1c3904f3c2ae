//go:build linux

package crash

import (
	"os"
	"testing"

	prog "memfs/integration/program"
)

// program is the memfs that the tests run and kill.
var program string

func TestMain(m *testing.M) { os.Exit(prog.Run(m, func(path string) { program = path })) }
