package attach

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"memfs/fs"
	"memfs/store/replica"
	"memfs/store/replica/disk"
)

const (
	// endingPatience is how long an ending owner of the same state is waited
	// for (R16).
	endingPatience = 30 * time.Second
	// lookAgain is the time between two looks at a state that is in use.
	lookAgain = 100 * time.Millisecond
)

// openReplica opens the state of a store. An owner that is ending is waited
// for, one that was killed and cannot end is helped to; any other is
// replica.ErrInUse, with its pid. Who only looks at the state has it for a
// moment without saying so, hence the second look.
func openReplica(ctx context.Context, log *zap.Logger, o replica.Options) (*replica.Replica, error) {
	deadline := time.Now().Add(endingPatience)
	said, live, helped := false, 0, false
	for {
		r, err := replica.Open(o)
		var locked *disk.LockedError
		if !errors.As(err, &locked) {
			return r, err
		}
		live++
		if live > 1 && !helped && fs.Hung(locked.PID) {
			helped = true
			if err := EndHung(log, o.Dir); err != nil {
				return nil, err
			}
		}
		if locked.Ending || helped {
			live = 0
		}
		if live > 1 || time.Now().After(deadline) {
			return nil, err
		}
		if locked.Ending && !said {
			log.Info("waiting for the process that ends", zap.String("code", "owner_ending"), zap.Int("pid", locked.PID))
			said = true
		}
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return nil, errors.Join(err, context.Cause(ctx))
		}
	}
}

// EndHung ends the mounts of processes that had replicas of this state directory
// open, were killed, and cannot end by themselves (fs.Hung). They end soon after
// it returns.
func EndHung(log *zap.Logger, stateDir string) error {
	found, err := replica.Leftovers(stateDir)
	if err != nil {
		return err
	}
	paths := make(map[int][]string)
	for _, l := range found {
		if l.Live {
			paths[l.PID] = append(paths[l.PID], l.MountPath)
		}
	}
	for pid, mounted := range paths {
		if !fs.Hung(pid) {
			continue
		}
		log.Warn("ending the mounts of a killed process that hangs", zap.String("code", "owner_hung"), zap.Int("pid", pid),
			zap.Strings("mounts", mounted))
		err = errors.Join(err, fs.EndHung(pid, mounted))
	}
	return err
}

// warnVolatile says what a state directory that goes with its container means
// (R15).
func warnVolatile(o Options) {
	kind, volatile, err := replica.Volatile(o.StateDir)
	if err != nil || !volatile {
		return // what is wrong with the directory, opening it tells
	}
	o.Log.Warn("the state directory is on "+kind+": edits that could not be sent, and those of a killed process, end with this container or the next boot",
		zap.String("code", "state_volatile"), zap.String("state_dir", o.StateDir), zap.String("filesystem", kind),
		zap.String("remedy", "mount a volume that outlives the container at "+o.StateDir+", or name one with --state-dir"))
}
