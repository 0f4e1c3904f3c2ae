package toolbox

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// Main is the program of the child, between its standard input and output. It
// returns the exit code.
func Main() (int, error) {
	if text, ok := os.LookupEnv(initVariable); ok {
		return initialize(text)
	}
	// A worker that died reads no answer. That must not end this process before
	// it has ended its tools and cleaned up; ignored, the signal would be for
	// the tools' own processes too.
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)
	if err := Serve(os.Stdin, os.Stdout); err != nil {
		return 1, err
	}
	return 0, nil
}

// initVariable says that a process is to protect the rest of the system from
// the tools first, and how.
const initVariable = "MEMFS_TOOLS_INIT"
