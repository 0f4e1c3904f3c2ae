//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync/atomic"
	"time"

	"memfs/integration/benchchild"
	"memfs/store/claude"
	"memfs/store/local"
)

// credential is any: the embedded store accepts all.
const credential = "bench"

// serveConfig starts a server in a process of its own: an embedded store, or
// what stands before another server.
type serveConfig struct {
	Dir      string        // the store's
	Upstream string        // the other server's address
	Latency  time.Duration // what each request takes longer
	// Ago sets the store's clock back: what is written counts as older.
	Ago time.Duration
}

// serveReady has two addresses: one that takes its time and is counted, for
// whom is measured, and one that does not, for who measures.
type serveReady struct{ Slow, Direct, EnvironmentKey string }

// serveOrder asks how many requests were counted, and has sessions do something.
type serveOrder struct {
	Start *local.SessionSpec // starts one
	ID    string             // of one that runs
	Calls []local.ToolCall   // its agent makes, each when the one before is answered
	End   bool               // ends it, and waits until its worker is done with it
}

type serveAnswer struct {
	Requests int64
	Session  string
	Took     time.Duration
}

func serveMain() error {
	in := json.NewDecoder(os.Stdin)
	var c serveConfig
	if err := in.Decode(&c); err != nil {
		return err
	}
	var server *local.Server
	handler, err := c.handler(&server)
	if err != nil {
		return err
	}
	var requests atomic.Int64
	slow, slowURL, err := listen(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		time.Sleep(c.Latency)
		handler.ServeHTTP(w, r)
	}))
	if err != nil {
		return err
	}
	direct, directURL, err := listen(handler)
	if err != nil {
		return err
	}
	ready := serveReady{Slow: slowURL, Direct: directURL}
	if server != nil {
		ready.EnvironmentKey = server.EnvironmentKey()
	}
	if err := json.NewEncoder(os.Stdout).Encode(ready); err != nil {
		return err
	}
	err = benchchild.Serve(in, func(o serveOrder) (any, error) {
		answer, err := o.obey(server)
		answer.Requests = requests.Load()
		return answer, err
	})
	if server != nil {
		server.EndStreams()
		err = errors.Join(err, server.Close())
	}
	return errors.Join(err, slow.Close(), direct.Close())
}

func (c serveConfig) handler(server **local.Server) (http.Handler, error) {
	if c.Upstream != "" {
		to, err := url.Parse(c.Upstream)
		if err != nil {
			return nil, err
		}
		return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host // WebDAV's Destination names it
		}}, nil
	}
	var err error
	if *server, err = local.Open(c.Dir, local.Options{Now: func() time.Time { return time.Now().Add(-c.Ago) }}); err != nil {
		return nil, err
	}
	return (*server).Handler(), nil
}

func (o serveOrder) obey(server *local.Server) (a serveAnswer, err error) {
	if o.Start == nil && o.ID == "" {
		return a, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), benchchild.Patience)
	defer cancel()
	began := time.Now()
	var x *local.Session
	if o.Start != nil {
		x, err = server.StartSession(ctx, *o.Start)
	} else {
		x, err = server.Session(o.ID)
	}
	if err != nil {
		return a, err
	}
	for _, c := range o.Calls {
		answer, err := x.Call(ctx, c)
		if err != nil {
			return a, err
		}
		if answer.Error {
			return a, fmt.Errorf("%s: %s", c.Name, answer.Text)
		}
	}
	if o.End {
		if err := x.End(local.EndTerminated); err != nil {
			return a, err
		}
		err = x.WaitWork(ctx, "stopped")
	}
	a.Session, a.Took = x.ID(), time.Since(began)
	return a, err
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

// remote is a server that runs, with a client that is not delayed.
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
	err := r.Ask(serveOrder{}, &answer)
	return answer.Requests, err
}
