package flags_test

import (
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/cmd/memfs/internal/flags"
)

type values struct {
	interval time.Duration
	mode     string
	all      bool
}

func newSet() (*pflag.FlagSet, *values) {
	set, v := pflag.NewFlagSet("test", pflag.ContinueOnError), &values{}
	flags.DurationVar(set, &v.interval, "sync-interval", 15*time.Second, time.Second, "time between passes")
	flags.ChoiceVar(set, &v.mode, "sync-deletions", "enabled", []string{"enabled", "log_only", "disabled"}, "deletes")
	set.BoolVar(&v.all, "all", false, "everything")
	return set, v
}

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"10": 10 * time.Second, "1.5": 1500 * time.Millisecond, "2m": 2 * time.Minute, "1s": time.Second, "1500ms": 1500 * time.Millisecond,
	} {
		t.Run(text, func(t *testing.T) {
			set, v := newSet()
			require.NoError(t, set.Parse([]string{"--sync-interval", text}))
			assert.Equal(t, want, v.interval)
		})
	}
	for text, says := range map[string]string{
		"0": "at least 1s", "999ms": "at least 1s", "-5": "at least 1s", "soon": "neither a duration", "": "neither a duration",
		"NaN": "out of range", "1e300": "out of range",
	} {
		t.Run("refused "+text, func(t *testing.T) {
			set, v := newSet()
			require.ErrorContains(t, set.Parse([]string{"--sync-interval=" + text}), says)
			assert.Equal(t, 15*time.Second, v.interval)
		})
	}
}

func TestChoiceTakesEitherSpelling(t *testing.T) {
	for _, text := range []string{"log_only", "log-only"} {
		set, v := newSet()
		require.NoError(t, set.Parse([]string{"--sync-deletions", text}))
		assert.Equal(t, "log_only", v.mode)
	}
	set, _ := newSet()
	require.ErrorContains(t, set.Parse([]string{"--sync-deletions", "never"}), "one of enabled, log_only, disabled")
}

func lookup(environment map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := environment[name]; return v, ok }
}

func TestFromEnvironment(t *testing.T) {
	set, v := newSet()
	require.NoError(t, set.Parse([]string{"--sync-interval", "2"}))
	require.NoError(t, flags.FromEnvironment(set, lookup(map[string]string{
		"MEMFS_SYNC_INTERVAL": "30", "MEMFS_SYNC_DELETIONS": "log-only", "MEMFS_ALL": "1",
	})))
	assert.Equal(t, values{interval: 2 * time.Second, mode: "log_only", all: true}, *v, "the command line goes before the environment")
}

func TestFromEnvironmentEmptyIsUnset(t *testing.T) {
	set, v := newSet()
	require.NoError(t, flags.FromEnvironment(set, lookup(map[string]string{"MEMFS_SYNC_INTERVAL": ""})))
	assert.Equal(t, 15*time.Second, v.interval)
}

func TestFromEnvironmentNamesTheVariable(t *testing.T) {
	set, _ := newSet()
	err := flags.FromEnvironment(set, lookup(map[string]string{"MEMFS_SYNC_INTERVAL": "0.5"}))
	assert.EqualError(t, err, `MEMFS_SYNC_INTERVAL="0.5": at least 1s`)
}

func TestDescribeNamesTheVariableOfEveryFlag(t *testing.T) {
	root, sub := &cobra.Command{Use: "root"}, &cobra.Command{Use: "sub", Run: func(*cobra.Command, []string) {}}
	root.AddCommand(sub)
	root.PersistentFlags().String("state-dir", "", "state")
	sub.Flags().Bool("json", false, "for machines")
	flags.Describe(root)
	assert.Equal(t, "state [$MEMFS_STATE_DIR]", root.PersistentFlags().Lookup("state-dir").Usage)
	assert.Equal(t, "for machines [$MEMFS_JSON]", sub.Flags().Lookup("json").Usage)
}

func TestOctal(t *testing.T) {
	var mask uint32
	set := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.OctalVar(set, &mask, "umask", 0o077, 0o777, "bits")
	assert.Equal(t, "077", set.Lookup("umask").DefValue)
	for text, want := range map[string]uint32{"22": 0o22, "022": 0o22, "0": 0, "777": 0o777} {
		require.NoError(t, set.Parse([]string{"--umask", text}), text)
		assert.Equal(t, want, mask, text)
	}
	for _, text := range []string{"1000", "8", "-1", "", "0x1"} {
		require.ErrorContains(t, set.Parse([]string{"--umask=" + text}), "an octal number up to 777", text)
	}
}
