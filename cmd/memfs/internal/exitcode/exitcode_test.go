package exitcode_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"

	"memfs/cmd/memfs/internal/exitcode"
	"memfs/fs"
	"memfs/fs/mountpoint"
	"memfs/store"
	"memfs/store/claude"
	"memfs/store/replica"
	"memfs/store/replica/disk"
)

func TestOf(t *testing.T) {
	plain := errors.New("something broke")
	for name, c := range map[string]struct {
		err  error
		want int
	}{
		"nothing":            {nil, exitcode.OK},
		"unknown":            {plain, exitcode.Failed},
		"given":              {exitcode.With(exitcode.Busy, plain), exitcode.Busy},
		"given, wrapped":     {fmt.Errorf("mount: %w", exitcode.Errorf(exitcode.Usage, "no store")), exitcode.Usage},
		"given over derived": {exitcode.With(exitcode.ExecFailed, store.ErrUnavailable), exitcode.ExecFailed},
		"outermost given":    {exitcode.With(exitcode.ExecFailed, exitcode.With(exitcode.Busy, plain)), exitcode.ExecFailed},
		"unreachable":        {fmt.Errorf("notes: %w", &store.UnavailableError{Status: 503}), exitcode.Unreachable},
		"credential refused": {fmt.Errorf("notes: %w", store.ErrUnauthorized), exitcode.Unreachable},
		"rate limited":       {&store.RateLimitedError{}, exitcode.Unreachable},
		"store gone":         {store.ErrNotFound, exitcode.Failed},
		"unknown store":      {&claude.UnknownStoreError{Ref: "notes"}, exitcode.Usage},
		"ambiguous store":    {&claude.AmbiguousStoreError{Ref: "notes"}, exitcode.Usage},
		"no device":          {fmt.Errorf("mount /m: %w", fs.ErrNoDevice), exitcode.HostNotReady},
		"no fusermount3":     {fs.ErrNoHelper, exitcode.HostNotReady},
		"parent":             {&mountpoint.ParentError{Path: "/m", Err: os.ErrPermission}, exitcode.HostNotReady},
		"open to others":     {&disk.UnsafeError{Path: "/s"}, exitcode.HostNotReady},
		"no space":           {fmt.Errorf("mount /m: %w", replica.ErrNoSpace), exitcode.HostNotReady},
		"path taken":         {&mountpoint.TakenError{Path: "/m"}, exitcode.PathTaken},
		"mounted":            {fmt.Errorf("mount /m: %w", fs.ErrMounted), exitcode.Busy},
		"locked":             {&disk.LockedError{Path: "/s"}, exitcode.Busy},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, exitcode.Of(c.err)) })
	}
}

func TestWithKeepsTheErrorInTheChain(t *testing.T) {
	err := exitcode.With(exitcode.ExecFailed, fmt.Errorf("notes: %w", store.ErrNotFound))
	assert.ErrorIs(t, err, store.ErrNotFound)
	assert.EqualError(t, err, "notes: not found in the store")
	assert.NoError(t, exitcode.With(exitcode.Failed, nil))
}
