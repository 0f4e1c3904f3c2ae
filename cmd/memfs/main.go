// Command memfs mounts Claude memory stores as filesystems.
package main

import (
	"context"
	"os"
)

// version is set by the linker; see the Makefile.
var version = "devel"

func main() {
	a := &app{stdout: os.Stdout, stderr: os.Stderr}
	os.Exit(a.run(context.Background(), os.Args[1:]))
}
