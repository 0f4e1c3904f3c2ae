package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"memfs"
	"memfs/cmd/memfs/internal/control"
	"memfs/cmd/memfs/internal/exitcode"
	"memfs/cmd/memfs/internal/mounted"
	"memfs/fs"
	"memfs/fs/mountpoint"
)

// mountView is one mount in the output of status.
type mountView struct {
	// What the process that serves it says of itself; zero where it cannot be
	// asked.
	PID     int       `json:"pid,omitempty"`
	Version string    `json:"version,omitempty"`
	Started time.Time `json:"started,omitzero"`

	Mount   string `json:"mount"`
	StoreID string `json:"store"`
	// Fault is why Status is not known: the mount is dead, or does not answer.
	Fault  string        `json:"fault,omitempty"`
	Status *memfs.Status `json:"status,omitempty"`
	Notes  []note        `json:"notes,omitempty"`

	// closed is set for the mount of another user, who lets nobody in.
	closed bool
}

// survey finds the mounts that paths lie in; no paths, all mounts of this host
// but those that other users let nobody into.
// Processes are asked first, which also know mounts that cannot be seen from
// here; the rest of the mount table tells about itself.
func (a *app) survey(ctx context.Context, paths []string) ([]mountView, error) {
	live, err := a.processes(ctx)
	if err != nil {
		return nil, err
	}
	views := []mountView{}
	served := map[string]bool{}
	for _, p := range live {
		for _, m := range p.Mounts {
			view, err := viewOfMount(p.Report, m)
			if err != nil {
				return nil, err
			}
			views, served[m.Path] = append(views, view), true
		}
	}
	table, err := fs.Mounts()
	if err != nil {
		return nil, err
	}
	var unknown []fs.MountInfo
	for _, m := range table {
		if !served[m.Path] {
			unknown, served[m.Path] = append(unknown, m), true
		}
	}
	views = append(views, askAll(unknown, ask)...)
	for i := range views {
		views[i].Notes = notesOf(views[i])
	}
	if len(paths) == 0 {
		return slices.DeleteFunc(views, func(v mountView) bool { return v.closed }), nil
	}
	return chosen(views, paths)
}

// viewOfMount is what a process says of one of its mounts.
func viewOfMount(p control.Report, m control.Mount) (mountView, error) {
	view := mountView{PID: p.PID, Version: p.Version, Started: p.Started, Mount: m.Path, Status: new(memfs.Status)}
	if err := json.Unmarshal(m.Status, view.Status); err != nil {
		return view, fmt.Errorf("status of %s: %w", m.Path, err)
	}
	view.StoreID = view.Status.StoreID
	return view, nil
}

// askAll has mounts tell about themselves, all at once: those of a process that
// hangs must not hold up the others, nor add up.
func askAll(mounts []fs.MountInfo, ask func(fs.MountInfo) mountView) []mountView {
	views := make([]mountView, len(mounts))
	var asking sync.WaitGroup
	for i, m := range mounts {
		asking.Go(func() { views[i] = ask(m) })
	}
	asking.Wait()
	return views
}

// askTime bounds how long a mount may take to tell about itself: the process
// that serves it may hang.
const askTime = 5 * time.Second

// ask has a mount tell about itself.
func ask(m fs.MountInfo) mountView {
	view := mountView{Mount: m.Path, StoreID: m.StoreID}
	type answer struct {
		mount mounted.Mount
		err   error
	}
	answered := make(chan answer, 1)
	go func() {
		got, err := mounted.At(m.Path)
		answered <- answer{got, err}
	}()
	select {
	case got := <-answered:
		if got.err != nil {
			view.closed = errors.Is(got.err, os.ErrPermission)
			view.Fault = oneLine(got.err.Error())
		} else {
			view.Status = &got.mount.Status
		}
	case <-time.After(askTime):
		view.Fault = "it does not answer"
	}
	return view
}

// chosen are the views of the mounts that paths lie in, in their order.
func chosen(views []mountView, paths []string) ([]mountView, error) {
	out := []mountView{}
	taken := map[int]bool{}
	for _, path := range paths {
		path, err := absolute(path)
		if err != nil {
			return nil, err
		}
		best := -1
		for i, v := range views {
			if mountpoint.Inside(path, v.Mount) && (best < 0 || len(v.Mount) >= len(views[best].Mount)) {
				best = i
			}
		}
		if best < 0 {
			return nil, exitcode.Errorf(exitcode.Failed, "%s is not mounted by memfs: memfs status lists what is", path)
		}
		if !taken[best] {
			taken[best], out = true, append(out, views[best])
		}
	}
	return out, nil
}
