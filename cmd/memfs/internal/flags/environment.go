package flags

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Variable is the environment variable of the flag with this name:
// MEMFS_SYNC_INTERVAL for sync-interval.
func Variable(flag string) string {
	return "MEMFS_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// FromEnvironment sets every flag that the command line left alone and whose
// variable is set and not empty. lookup is os.LookupEnv.
func FromEnvironment(set *pflag.FlagSet, lookup func(string) (string, bool)) error {
	var first error
	set.VisitAll(func(f *pflag.Flag) {
		value, ok := lookup(Variable(f.Name))
		if f.Changed || !ok || value == "" || !Bound(f) {
			return
		}
		if err := set.Set(f.Name, value); err != nil && first == nil {
			first = fmt.Errorf("%s=%q: %w", Variable(f.Name), value, cause(err))
		}
	})
	return first
}

// Describe names the variable in the help of every flag of cmd and the
// commands below it.
func Describe(cmd *cobra.Command) {
	name := func(f *pflag.Flag) {
		if Bound(f) {
			f.Usage += " [$" + Variable(f.Name) + "]"
		}
	}
	cmd.Flags().VisitAll(name)
	cmd.PersistentFlags().VisitAll(name)
	for _, sub := range cmd.Commands() {
		Describe(sub)
	}
}

// Bound reports whether a flag has a variable: it leaves out the flags that cobra
// adds by itself, and hidden ones, by which memfs talks to itself.
func Bound(f *pflag.Flag) bool { return f.Name != "help" && f.Name != "version" && !f.Hidden }

// cause drops pflag's own wrapping, which names the flag and not the variable.
func cause(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}
