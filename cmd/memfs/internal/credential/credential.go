// Package credential finds the secrets that memfs is given and keeps them from
// those that it runs. A secret is never a flag: it comes from the environment,
// from a file that a variable names, or from systemd's credentials.
package credential

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"memfs/cmd/memfs/internal/exitcode"
)

// Names are the variables that authenticate memfs to the API; the SDK reads
// them.
func Names() []string { return []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"} }

// ServeName is the variable that holds the only key that memfs serve accepts.
const ServeName = "MEMFS_SERVE_KEY"

// Lookup finds the secret called name: the variable itself, the file that
// name_FILE names, the file called name in $CREDENTIALS_DIRECTORY. "" means
// that there is none. White space around a file's text does not belong to it.
func Lookup(name string) (string, error) {
	if value := os.Getenv(name); value != "" {
		return value, nil
	}
	if path := os.Getenv(name + "_FILE"); path != "" {
		value, err := read(path)
		if err != nil {
			return "", exitcode.Errorf(exitcode.Usage, "%s_FILE: %w: name a file that this user may read, or unset it", name, err)
		}
		return value, nil
	}
	dir := os.Getenv("CREDENTIALS_DIRECTORY")
	if dir == "" {
		return "", nil
	}
	value, err := read(filepath.Join(dir, name))
	if err != nil && !os.IsNotExist(err) {
		return "", exitcode.Errorf(exitcode.Usage, "CREDENTIALS_DIRECTORY: %w: let this user read it, or set %s", err, name)
	}
	return value, nil
}

func read(path string) (string, error) {
	text, err := os.ReadFile(path)
	return strings.TrimSpace(string(text)), err
}

// Adopt puts the secrets of Names that lie in files into this process's own
// environment, where the SDK looks. The kernel does not show it to others.
func Adopt() error {
	for _, name := range Names() {
		value, err := Lookup(name)
		if err != nil {
			return err
		}
		if value == "" {
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("adopt %s: %w", name, err)
		}
	}
	return nil
}

// Places are the files and the directory where this process's secrets lie, as
// far as its environment says: those of Names, and the others that are named.
func Places(others ...string) []string {
	var places []string
	for _, name := range append(Names(), others...) {
		places = append(places, os.Getenv(name+"_FILE"))
	}
	places = append(places, os.Getenv("CREDENTIALS_DIRECTORY"))
	return slices.DeleteFunc(places, func(place string) bool { return place == "" })
}

// Strip returns environ without secrets, and without what leads to them: what
// a command that memfs runs may see (R19).
func Strip(environ []string) []string {
	kept := make([]string, 0, len(environ))
	for _, pair := range environ {
		if name, _, _ := strings.Cut(pair, "="); !secret(name) {
			kept = append(kept, pair)
		}
	}
	return kept
}

func secret(name string) bool {
	if name == "CREDENTIALS_DIRECTORY" || strings.HasPrefix(name, ServeName) {
		return true
	}
	if !strings.HasPrefix(name, "ANTHROPIC_") {
		return false
	}
	for _, word := range []string{"KEY", "TOKEN", "SECRET"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}
