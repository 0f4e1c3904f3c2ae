package main_test

import (
	"testing"

	"memfs/cmd/memfs/internal/exitcode"
)

func TestUsageErrors(t *testing.T) {
	h := newHost(t)
	for name, c := range map[string]struct {
		says string
		args []string
	}{
		"unknown command":     {`unknown command "mout" for "memfs"; did you mean mount? (see memfs --help)`, []string{"mout"}},
		"several are like it": {`"memfs"; did you mean mount or unmount? (see`, []string{"umoun"}},
		"unknown worker":      {`unknown command "pol" for "memfs worker"; did you mean poll? (see memfs worker --help)`, []string{"worker", "pol"}},
		"like nothing":        {`unknown command "xyzzy" for "memfs guard" (see memfs guard --help)`, []string{"guard", "xyzzy"}},
		"unknown sub-command": {`unknown command "lst" for "memfs store"; did you mean list? (see memfs store --help)`, []string{"store", "lst"}},
		"unknown flag":        {"unknown flag: --sycn (see memfs mount --help)", []string{"mount", "--sycn", "1"}},
		"no store":            {"name the stores to mount (see memfs mount --help)", []string{"mount"}},
		"no store before :ro": {`":ro" is not of the form STORE[:PATH][:ro]: no store named`, []string{"mount", ":ro"}},
		"mistyped mode":       {`"notes:/x:RO": the mode after a path is :ro or :rw`, []string{"mount", "notes:/x:RO"}},
		"relative path":       {`"notes:rel/path": PATH must be absolute`, []string{"mount", "notes:rel/path"}},
		"over the root":       {"cannot be mounted over the root directory", []string{"mount", "notes:/"}},
		"interval too short":  {`"--sync-interval" flag: at least 1s`, []string{"mount", "notes", "--sync-interval", "0.5"}},
		"unknown mode":        {"one of enabled, log_only, disabled", []string{"mount", "notes", "--sync-deletions", "never"}},
		"nothing to unmount":  {"name the paths to unmount, or --all", []string{"unmount"}},
		"paths and all":       {"name the paths to unmount, or --all", []string{"umount", "/mnt", "--all"}},
		"no name":             {"name the store", []string{"store", "create"}},
		"user's name":         {`invalid argument "bob" for "--uid" flag: a number, as the command id tells it`, []string{"mount", "notes", "--uid", "bob"}},
		"metrics where":       {`invalid argument "foo" for "--metrics-addr" flag: neither a port nor HOST:PORT`, []string{"mount", "notes", "--metrics-addr", "foo"}},
		"listen where":        {`invalid argument "foo" for "--listen" flag: not HOST:PORT`, []string{"serve", "--local", "x", "--listen", "foo"}},
		"serve what":          {"serve needs --local DIR", []string{"serve"}},
	} {
		t.Run(name, func(t *testing.T) {
			on := *h
			on.t = t
			on.fails(exitcode.Usage, c.says, c.args...)
		})
	}
}

func TestUsageErrorInTheEnvironmentNamesTheVariable(t *testing.T) {
	h := newHost(t).with("MEMFS_SYNC_INTERVAL=soon")
	h.fails(exitcode.Usage, `MEMFS_SYNC_INTERVAL="soon": neither a duration (15s, 2m) nor a number of seconds`, "mount", "notes")
}

func TestUsageErrorsInTheEnvironment(t *testing.T) {
	h := newHost(t)
	url := h.with("ANTHROPIC_API_KEY=any", "ANTHROPIC_BASE_URL=foo")
	url.fails(exitcode.Usage, `ANTHROPIC_BASE_URL="foo" is no address of an API: set it to`, "store", "list")
	url.with("ANTHROPIC_ENVIRONMENT_KEY=any").fails(exitcode.Usage, `ANTHROPIC_BASE_URL="foo"`, "worker", "poll", "--environment-id", "env_1")
	h.with("ANTHROPIC_API_KEY_FILE="+h.path("none")).fails(exitcode.Usage, "ANTHROPIC_API_KEY_FILE: open "+h.path("none")+": no such file or directory: name a file", "store", "list")
	h.with("MEMFS_METRICS_ADDR=foo").fails(exitcode.Usage, `MEMFS_METRICS_ADDR="foo": neither a port nor HOST:PORT`, "mount", "notes")
	local := h.local()
	local.store("notes")
	local.fails(exitcode.Usage, "give --session the id", "mount", "--session", "foo")
}

func TestExecUsageErrorsMeanThatNothingRan(t *testing.T) {
	h := newHost(t)
	h.fails(exitcode.ExecFailed, "usage: memfs exec STORE... -- COMMAND", "exec", "notes")
	h.fails(exitcode.ExecFailed, "usage: memfs exec STORE... -- COMMAND", "exec", "--", "true")
	h.fails(exitcode.ExecFailed, "no store named", "exec", ":ro", "--", "true")
	h.fails(exitcode.ExecFailed, "unknown flag: --bad", "exec", "--bad", "notes", "--", "true")
}
