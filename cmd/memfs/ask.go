package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/mattn/go-isatty"

	"memfs/cmd/memfs/internal/exitcode"
)

// errDeclined: the person at the terminal said no.
var errDeclined = errors.New("nothing was changed")

// agreed asks the person at the terminal; yes is their answer from before.
// Where nobody can be asked it is a usage error.
func (a *app) agreed(question string, yes bool) error {
	if yes {
		return nil
	}
	if !isatty.IsTerminal(os.Stdin.Fd()) {
		return exitcode.Errorf(exitcode.Usage, "nothing was changed: add --yes where nobody can be asked")
	}
	if _, err := fmt.Fprintf(a.stderr, "%s [y/N] ", question); err != nil {
		return err
	}
	answer, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil && answer == "" {
		return errDeclined
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errDeclined
}
