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

// serveConfig starts an embedded store in a process of its own.
type serveConfig struct {
	Dir     string
	Latency time.Duration // what each request takes longer
}

type serveReady struct{ URL string }

// countOrder asks how many requests there were.
type countOrder struct{}

func serveMain() error {
	in := json.NewDecoder(os.Stdin)
	var c serveConfig
	if err := in.Decode(&c); err != nil {
		return err
	}
	server, err := local.Open(c.Dir, local.Options{})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var requests atomic.Int64
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		time.Sleep(c.Latency)
		server.Handler().ServeHTTP(w, r)
	})
	h := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = h.Serve(l) }() // it ends with Close
	if err := json.NewEncoder(os.Stdout).Encode(serveReady{"http://" + l.Addr().String()}); err != nil {
		return err
	}
	err = benchchild.Serve(in, func(countOrder) (any, error) { return requests.Load(), nil })
	return errors.Join(err, h.Close(), server.Close())
}

// remote is an embedded store that runs.
type remote struct {
	*benchchild.Child
	dir, url string
}

// serve starts a server on a directory, which may hold stores already.
func (b *bench) serve(dir string, latency time.Duration) (*remote, error) {
	var ready serveReady
	c, err := benchchild.Start("serve", serveConfig{dir, latency}, &ready)
	if err != nil {
		return nil, err
	}
	b.after(c.End)
	return &remote{c, dir, ready.URL}, nil
}

func (r *remote) requests() (int, error) {
	var n int
	return n, r.Ask(countOrder{}, &n)
}

// credential is any: the embedded store accepts all.
const credential = "benchfs"

// seed makes a store with these files.
func (r *remote) seed(ctx context.Context, s shape) (store.Info, error) {
	api, err := claude.New(claude.Config{BaseURL: r.url, Credential: credential})
	if err != nil {
		return store.Info{}, err
	}
	defer api.Close()
	info, err := api.CreateStore(ctx, "bench", "")
	if err != nil {
		return info, err
	}
	client := api.Store(info.ID)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i := range s.files {
		group.Go(func() error {
			_, err := client.Create(ctx, "/"+s.name(i), s.text(i))
			return err
		})
	}
	return info, group.Wait()
}
