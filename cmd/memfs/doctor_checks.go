package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	memfs "memfs/fs"
	"memfs/fs/mountpoint"
	"memfs/guard"
	"memfs/store/replica"
	"memfs/store/replica/disk"
)

// checkLeftovers looks for edits of earlier sessions.
func checkLeftovers(stateDir string) guard.Check {
	c := guard.Check{Name: "leftovers", Status: guard.OK, Detail: "none"}
	if _, err := os.Stat(stateDir); errors.Is(err, fs.ErrNotExist) {
		return c
	}
	found, err := replica.Leftovers(stateDir)
	if err != nil {
		return guard.Check{Name: "leftovers", Status: guard.Warn, Detail: oneLine(err.Error()), Remedy: "memfs recover list"}
	}
	edits := 0
	for _, l := range found {
		if memfs.Hung(l.PID) {
			return guard.Check{Name: "leftovers", Status: guard.Warn, Remedy: "memfs unmount " + l.MountPath,
				Detail: fmt.Sprintf("process %d was killed and hangs, and with it who uses its mount at %s", l.PID, l.MountPath)}
		}
		if v := describe(l); v.State != stateLive {
			edits += len(v.Edits) + len(v.Deletes)
		}
	}
	if edits > 0 {
		c.Status, c.Detail = guard.Warn, "not sent, of earlier sessions: "+count(edits, "edit", "edits")
		c.Remedy = "attach the stores again, or memfs recover list"
	}
	return c
}

// checkRoot names what lies where stores are mounted and is no mount of memfs.
func checkRoot(root string) guard.Check {
	c := guard.Check{Name: "mount paths", Status: guard.OK, Detail: "nothing is in the way"}
	entries, err := os.ReadDir(root)
	mounts, tableErr := memfs.Mounts()
	if err != nil || tableErr != nil {
		return c // what is wrong with the root, its own check says
	}
	mounted := map[string]bool{}
	for _, m := range mounts {
		mounted[m.Path] = true
	}
	var foreign []string
	for _, e := range entries {
		if path := filepath.Join(root, e.Name()); !mounted[path] {
			foreign = append(foreign, path)
		}
	}
	if foreign != nil {
		c.Status, c.Detail = guard.Warn, "memfs mounts on none of these: "+strings.Join(foreign, ", ")
		c.Remedy = "remove or rename what stores are to be mounted at; a live session's own leftovers go by themselves"
	}
	return c
}

// fix does what cannot harm: nobody can use a dead mount, and nobody else
// should look into a state directory.
func (a *app) fix(root, state string) error {
	if info, err := os.Lstat(state); err == nil && info.Mode().Perm()&0o077 != 0 && guard.Ours(state) {
		if err := os.Chmod(state, 0o700); err != nil {
			return fmt.Errorf("close the state directory: %w", err)
		}
		a.fixed("closed " + state + " to other users")
	}
	var unsafe *disk.UnsafeError // the report says so
	if err := a.endHung(state); err != nil && !errors.As(err, &unsafe) {
		return err
	}
	mounts, err := memfs.Mounts()
	if err != nil {
		return err
	}
	for _, m := range mounts {
		if !mountpoint.Inside(m.Path, root) || !memfs.Stale(m.Path) {
			continue
		}
		if err := clearPath(m.Path, state); err != nil {
			return err
		}
		a.fixed("took the dead mount at " + m.Path + " away")
	}
	return nil
}

func (a *app) fixed(what string) { _, _ = fmt.Fprintln(a.stderr, "fixed: "+what) }
