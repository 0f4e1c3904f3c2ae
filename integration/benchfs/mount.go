//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"time"

	"go.uber.org/zap"

	"memfs"
	"memfs/integration/benchchild"
	"memfs/reconcile"
	"memfs/store"
	"memfs/store/claude"
)

// mountConfig mounts a store, in a process of its own, once or at several
// paths.
type mountConfig struct {
	URL      string
	Store    store.Info
	Paths    []string
	StateDir string
	Interval time.Duration
	Hydrate  bool
	Keep     bool   // contents stay for the next mount
	Profile  string // of the attach
}

// mountReady says how long the attach took.
type mountReady struct{ Attached time.Duration }

// mountOrder has the mounting process do something.
type mountOrder struct {
	Await   bool   // wait until all contents are here
	Profile string // write a CPU profile to this file until the next order
	Heap    string // write a profile of what is in memory to this file
}

func mountMain() error {
	in := json.NewDecoder(os.Stdin)
	var c mountConfig
	if err := in.Decode(&c); err != nil {
		return err
	}
	began := time.Now()
	session, closing, err := attach(c)
	if err != nil {
		return err
	}
	ready := mountReady{time.Since(began)}
	if err := json.NewEncoder(os.Stdout).Encode(ready); err != nil {
		return err
	}
	err = benchchild.Serve(in, func(o mountOrder) (any, error) { return struct{}{}, obey(session, o) })
	pprof.StopCPUProfile()
	ctx, cancel := context.WithTimeout(context.Background(), benchchild.Patience)
	defer cancel()
	_, detachErr := session.Detach(ctx)
	closing()
	return errors.Join(err, detachErr)
}

func attach(c mountConfig) (*memfs.Session, func(), error) {
	api, err := claude.New(claude.Config{BaseURL: c.URL, Credential: credential})
	if err != nil {
		return nil, nil, err
	}
	log, err := zap.Config{Level: zap.NewAtomicLevelAt(zap.WarnLevel), Encoding: "console",
		EncoderConfig: zap.NewDevelopmentEncoderConfig(), OutputPaths: []string{"stderr"}}.Build()
	if err != nil {
		return nil, nil, err
	}
	if c.Profile != "" {
		if err := startProfile(c.Profile); err != nil {
			return nil, nil, err
		}
		defer pprof.StopCPUProfile()
	}
	var stores []memfs.Store
	for _, path := range c.Paths {
		stores = append(stores, memfs.Store{Client: api.Store(c.Store.ID), Info: c.Store, Path: path})
	}
	session, err := memfs.Attach(context.Background(), memfs.Options{StateDir: c.StateDir, Endpoint: c.URL, KeepCache: c.Keep,
		Sync: reconcile.Options{Interval: c.Interval, NoHydrate: !c.Hydrate}, Log: log}, stores)
	return session, api.Close, err
}

func obey(session *memfs.Session, o mountOrder) error {
	pprof.StopCPUProfile()
	if o.Profile != "" {
		return startProfile(o.Profile)
	}
	if o.Heap != "" {
		return writeHeap(o.Heap)
	}
	for o.Await && unfetched(session) > 0 {
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}

func startProfile(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return pprof.StartCPUProfile(f) // the file is closed with the process
}

func writeHeap(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	runtime.GC()
	return errors.Join(pprof.WriteHeapProfile(f), f.Close())
}

func unfetched(session *memfs.Session) (n int) {
	for _, s := range session.Status() {
		n += s.Remote
	}
	return n
}

// mounted is a mount that a child serves.
type mounted struct {
	*benchchild.Child
	mountReady
	path  string // of the first mount
	state string
}

// mount mounts a store n times. The state directory may be one of an earlier
// mount; "" makes a new one.
func (b *bench) mount(c mountConfig, n int) (*mounted, error) {
	dir, err := b.newDir("mount")
	if err != nil {
		return nil, err
	}
	for i := range n {
		c.Paths = append(c.Paths, filepath.Join(dir, fmt.Sprint("mnt", i)))
	}
	if c.StateDir == "" {
		if c.StateDir, err = b.newDir("state"); err != nil {
			return nil, err
		}
	}
	m := &mounted{path: c.Paths[0], state: c.StateDir}
	m.Child, err = benchchild.Start("mount", c, &m.mountReady)
	return m, err
}

// await waits until all contents are here.
func (m *mounted) await() error { return m.Ask(mountOrder{Await: true}, &struct{}{}) }

// heap has the process write what it has in memory.
func (m *mounted) heap(path string) error { return m.Ask(mountOrder{Heap: path}, &struct{}{}) }

// profiled begins a CPU profile of the process, until the next order.
func (m *mounted) profiled(path string) error { return m.Ask(mountOrder{Profile: path}, &struct{}{}) }
