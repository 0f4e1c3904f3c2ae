//go:build linux

package posix

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hanwen/go-fuse/v2/posixtest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/integration/mounttest"
)

// notPassed are the cases of go-fuse's suite that a mount does not pass: what
// the case ends with, what it says then, and why that is right. Everything else
// must pass, and these must not.
func notPassed() map[string]exception {
	const (
		noLinks     = "a store holds no links: EPERM (R11)"
		noAllocate  = "no fallocate: libraries write zeros instead"
		noAttribute = "only user.memfs.* exist, to be read (R11)"
	)
	return map[string]exception{
		"Fallocate":           {"fail", "operation not supported", noAllocate},
		"FallocateKeepSize":   {"fail", "operation not supported", noAllocate},
		"FcntlFlockLocksFile": {"fail", "expected EAGAIN", "expects two locks of one process to exclude each other; fcntl locks belong to the process"},
		"FileLarge":           {"fail", "file too large", "writes more than the 102,400 bytes of a memory (R11)"},
		"Link":                {"fail", "operation not permitted", noLinks},
		"LinkUnlinkRename":    {"fail", "operation not permitted", noLinks},
		"OpenSymlinkRace":     {"fail", "Symlink: operation not permitted", noLinks},
		"SetattrSymlink":      {"fail", "operation not permitted", noLinks},
		"SymlinkReadlink":     {"fail", "operation not permitted", noLinks},
		"Tmpfile":             {"skip", "FS does not support O_TMPFILE", "a file without a name can never be sent; libraries make a named one"},
		"XAttr":               {"skip", "does not support", noAttribute},
		"XAttrLarge":          {"skip", "does not support", noAttribute},
	}
}

type exception struct{ outcome, says, reason string }

// suiteEnv names the mount to the process that runs the suite: a case that
// fails must not fail this test.
const suiteEnv = "MEMFS_POSIXTEST_DIR"

// TestGoFuseSuite runs go-fuse's posixtest, whole.
func TestGoFuseSuite(t *testing.T) {
	m := mounttest.Start(t, mounttest.Options{})
	run := exec.Command(os.Args[0], "-test.run=^TestGoFuseCases$", "-test.v=test2json")
	run.Env = append(os.Environ(), suiteEnv+"="+m.Path, "GORACE=atexit_sleep_ms=0")
	said, _ := run.Output() // fails with the cases that fail
	convert := exec.Command("go", "tool", "test2json")
	convert.Stdin = bytes.NewReader(said)
	events, err := convert.Output()
	require.NoError(t, err)

	outcomes, texts := map[string]string{}, map[string]string{}
	for lines := json.NewDecoder(bytes.NewReader(events)); lines.More(); {
		var event struct{ Action, Test, Output string }
		require.NoError(t, lines.Decode(&event))
		name, ok := strings.CutPrefix(event.Test, "TestGoFuseCases/")
		switch {
		case !ok:
		case event.Action == "output":
			texts[name] += event.Output
		default:
			outcomes[name] = event.Action
		}
	}
	want := map[string]string{}
	for name := range posixtest.All {
		want[name] = "pass"
	}
	for name, not := range notPassed() {
		assert.Contains(t, want, name, "no such case")
		assert.Contains(t, texts[name], not.says, "%s: %s", name, not.reason)
		want[name] = not.outcome
	}
	for name, outcome := range want {
		assert.Equal(t, outcome, outcomes[name], "%s: %s", name, texts[name])
	}
	assert.Len(t, outcomes, len(want))
}

// TestGoFuseCases is what TestGoFuseSuite runs.
func TestGoFuseCases(t *testing.T) {
	dir := os.Getenv(suiteEnv)
	if dir == "" {
		t.Skip("run by TestGoFuseSuite, in a process of its own")
	}
	for _, name := range slices.Sorted(maps.Keys(posixtest.All)) {
		t.Run(name, func(t *testing.T) {
			mine := filepath.Join(dir, fmt.Sprintf("case-%s", name))
			require.NoError(t, os.Mkdir(mine, 0o755))
			posixtest.All[name](t, mine)
		})
	}
}
