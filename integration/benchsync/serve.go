//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"memfs/integration/benchchild"
	"memfs/store"
	"memfs/store/claude"
	"memfs/store/local"
)

// credential is any: the embedded store accepts all.
const credential = "benchsync"

// serveConfig starts an embedded store in a process of its own.
type serveConfig struct {
	Dir     string
	Latency time.Duration
	// Ago sets the store's clock back: what is written counts as older.
	Ago time.Duration
}

// serveReady has two addresses: one that takes its time and is counted, for
// whom is measured, and one that does not, for who measures.
type serveReady struct{ Slow, Direct string }

// serveOrder asks how many requests were counted, or for a new session.
type serveOrder struct {
	// Store and Path are what the session has attached, and where; "" only
	// counts.
	Store, Path string
}

type serveAnswer struct {
	Requests int64
	Session  string
}

func serveMain() error {
	in := json.NewDecoder(os.Stdin)
	var c serveConfig
	if err := in.Decode(&c); err != nil {
		return err
	}
	server, err := local.Open(c.Dir, local.Options{Now: func() time.Time { return time.Now().Add(-c.Ago) }})
	if err != nil {
		return err
	}
	var requests atomic.Int64
	slow, slowURL, err := listen(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		time.Sleep(c.Latency)
		server.Handler().ServeHTTP(w, r)
	}))
	if err != nil {
		return err
	}
	direct, directURL, err := listen(server.Handler())
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(serveReady{slowURL, directURL}); err != nil {
		return err
	}
	err = benchchild.Serve(in, func(o serveOrder) (any, error) {
		answer := serveAnswer{Requests: requests.Load()}
		if o.Store == "" {
			return answer, nil
		}
		x, err := server.StartSession(context.Background(), local.SessionSpec{
			Stores: []local.Attachment{{Store: o.Store, MountPath: &o.Path}},
		})
		if err == nil {
			answer.Session = x.ID()
		}
		return answer, err
	})
	return errors.Join(err, slow.Close(), direct.Close(), server.Close())
}

func listen(handler http.Handler) (*http.Server, string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	s := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(l) }() // it ends with Close
	return s, "http://" + l.Addr().String(), nil
}

// remote is an embedded store that runs, with a client that is not delayed.
type remote struct {
	*benchchild.Child
	serveReady
	api *claude.API
}

func serve(c serveConfig) (*remote, error) {
	r := &remote{}
	var err error
	if r.Child, err = benchchild.Start("serve", c, &r.serveReady); err != nil {
		return nil, err
	}
	if r.api, err = claude.New(claude.Config{BaseURL: r.Direct, Credential: credential}); err != nil {
		return nil, errors.Join(err, r.Child.End())
	}
	return r, nil
}

func (r *remote) end() error {
	r.api.Close()
	return r.Child.End()
}

func (r *remote) requests() (int64, error) {
	var answer serveAnswer
	return answer.Requests, r.Ask(serveOrder{}, &answer)
}

func (r *remote) session(storeID, path string) (string, error) {
	var answer serveAnswer
	err := r.Ask(serveOrder{Store: storeID, Path: path}, &answer)
	return answer.Session, err
}

// seeded is how long ago a store was written that is measured: longer than a
// pass looks back.
const seeded = time.Hour

// seed makes a store of a shape in a directory.
func seed(ctx context.Context, dir string, s shape, memories int) (info store.Info, err error) {
	r, err := serve(serveConfig{Dir: dir, Ago: seeded})
	if err != nil {
		return info, err
	}
	defer func() { err = errors.Join(err, r.end()) }()
	if info, err = r.api.CreateStore(ctx, "bench", ""); err != nil {
		return info, err
	}
	client := r.api.Store(info.ID)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i := range memories {
		group.Go(func() error {
			_, err := client.Create(ctx, s.path(i), text(i, 0))
			return err
		})
	}
	return info, group.Wait()
}
