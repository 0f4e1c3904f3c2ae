package exitcode

import (
	"errors"

	"memfs/fs"
	"memfs/fs/mountpoint"
	"memfs/store"
	"memfs/store/claude"
	"memfs/store/replica"
	"memfs/store/replica/disk"
)

// row is what the contract says of one kind of error.
type row struct {
	is     func(error) bool
	code   int
	remedy string
}

// rowOf finds the row of err: the first that fits.
func rowOf(err error) row {
	for _, r := range table {
		if r.is(err) {
			return r
		}
	}
	return row{code: Failed}
}

var table = []row{
	{as[*claude.UnknownStoreError], Usage, ""},
	{as[*claude.AmbiguousStoreError], Usage, ""},
	{is(mountpoint.ErrStateDir), Usage, ""},
	{is(mountpoint.ErrNested), Usage, ""},
	{as[*mountpoint.TakenError], PathTaken, ""},
	{as[*mountpoint.ParentError], HostNotReady, ""},
	{is(fs.ErrNoDevice), HostNotReady, ""},
	{is(fs.ErrDeviceAccess), HostNotReady, ""},
	{is(fs.ErrNoHelper), HostNotReady, ""},
	{is(fs.ErrNotPermitted), HostNotReady, ""},
	{is(fs.ErrAllowOther), HostNotReady, ""},
	{as[*disk.UnsafeError], HostNotReady, ""},
	{as[*fs.HungError], Busy, ""},
	{is(fs.ErrMounted), Busy, "memfs unmount it, or choose another path"},
	{is(disk.ErrLocked), Busy, "end that process first, or choose another path or state directory"},
	{is(replica.ErrInUse), Busy, "end that process first, or choose another path or state directory"},
	{is(store.ErrUnauthorized), Unreachable, "set ANTHROPIC_API_KEY, or ANTHROPIC_API_KEY_FILE, to a key that may use memory stores"},
	{is(store.ErrUnavailable), Unreachable, "check the network and ANTHROPIC_BASE_URL"},
	{is(replica.ErrNoSpace), HostNotReady, "make room there, or name another with --state-dir"},
	{as[*store.RateLimitedError], Unreachable, "try again later"},
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func as[E error](err error) bool {
	var target E
	return errors.As(err, &target)
}
