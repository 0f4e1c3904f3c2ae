//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"time"

	"golang.org/x/sys/unix"

	"memfs/integration/benchchild"
	"memfs/store"
)

// attached is a store and where it is to be.
type attached struct {
	Info store.Info
	Path string
}

// peerConfig says what a peer attaches.
type peerConfig struct {
	URL     string
	Stores  []attached
	Session string // that has the stores at their paths
	State   string // a directory for the peer's own use
	Hydrate bool   // bring all contents here in the background
	Keep    bool   // contents stay for the next attach
	Profile string // file for a CPU profile of the whole process
}

// peerOrder has a peer do something.
type peerOrder struct{ Do, File string }

const (
	doPass  = "pass"  // bring mount and store together, once it may
	doUsage = "usage" // nothing, but say what was spent
	doAwait = "await" // wait until all contents are here
	doHeap  = "heap"  // write what is in memory to File
	doEnd   = "end"   // end the session as a worker does
)

// spent is the answer: how long it took, and the process's CPU time so far.
type spent struct{ Took, CPU time.Duration }

// peer does what is measured.
type peer interface {
	// due waits until the peer would do a pass.
	due()
	pass() error
	await() error
	end() error
}

// peerMain is the process of a peer that attach brings up.
func peerMain(attach func(peerConfig) (peer, func() error, error)) error {
	in := json.NewDecoder(os.Stdin)
	var c peerConfig
	if err := in.Decode(&c); err != nil {
		return err
	}
	if c.Profile != "" {
		f, err := os.Create(c.Profile)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	p, ready, err := attach(c)
	if err != nil {
		return err
	}
	answer, err := timed(ready)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(answer); err != nil {
		return err
	}
	ended := false
	err = benchchild.Serve(in, func(o peerOrder) (any, error) {
		switch o.Do {
		case doPass:
			p.due()
			return timed(p.pass)
		case doUsage:
			return timed(func() error { return nil })
		case doAwait:
			return timed(p.await)
		case doHeap:
			return timed(func() error { return writeHeap(o.File) })
		case doEnd:
			ended = true
			return timed(p.end)
		}
		return nil, fmt.Errorf("unknown order %q", o.Do)
	})
	if !ended { // nothing stays behind, whatever went wrong
		err = errors.Join(err, p.end())
	}
	return err
}

func timed(f func() error) (spent, error) {
	began := time.Now()
	if err := f(); err != nil {
		return spent{}, err
	}
	took := time.Since(began)
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return spent{}, err
	}
	return spent{took, time.Duration(usage.Utime.Nano() + usage.Stime.Nano())}, nil
}

func writeHeap(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	runtime.GC()
	return errors.Join(pprof.WriteHeapProfile(f), f.Close())
}
