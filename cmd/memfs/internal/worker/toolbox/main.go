package toolbox

import "os"

// Main is the program of the child, between its standard input and output. It
// returns the exit code.
func Main() (int, error) {
	if text, ok := os.LookupEnv(initVariable); ok {
		return initialize(text)
	}
	if err := Serve(os.Stdin, os.Stdout); err != nil {
		return 1, err
	}
	return 0, nil
}

// initVariable says that a process is to protect the rest of the system from
// the tools first, and how.
const initVariable = "MEMFS_TOOLS_INIT"
