package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"memfs/cmd/memfs/internal/backend"
	"memfs/cmd/memfs/internal/credential"
	"memfs/cmd/memfs/internal/exitcode"
	"memfs/guard"
	"memfs/store"
	"memfs/store/claude"
)

const (
	// apiTime bounds how long the API may take to answer.
	apiTime = 10 * time.Second
	// clockOff is how far this host's clock may be from the API's.
	clockOff = time.Minute
)

// apiAnswer is what the API said to a request without a credential: that it is
// there, and what time it is.
type apiAnswer struct {
	embedded bool // there is nobody to ask
	err      error
	date     time.Time     // zero where it does not say
	off      time.Duration // how far this host's clock is ahead of date
}

// reach asks the API for nothing.
func (a *app) reach(ctx context.Context) apiAnswer {
	if a.local != "" {
		return apiAnswer{embedded: true}
	}
	if err := backend.CheckURL(); err != nil {
		return apiAnswer{err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, apiTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, backend.URL(), nil)
	if err != nil {
		return apiAnswer{err: err}
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return apiAnswer{err: &store.UnavailableError{Cause: err}}
	}
	now := time.Now()
	_ = response.Body.Close() // there is none
	date, err := http.ParseTime(response.Header.Get("Date"))
	if err != nil {
		return apiAnswer{}
	}
	return apiAnswer{date: date, off: now.Sub(date)}
}

// checkClock compares this host's clock with the API's. Passes do not go by it,
// but certificates and tokens do, and so do the times that people compare.
func (r apiAnswer) checkClock() guard.Check {
	c := guard.Check{Name: "clock", Status: guard.OK}
	switch {
	case r.embedded:
		c.Detail = "not compared: the embedded store has this host's"
	case r.err != nil:
		c.Detail = "not compared: the API does not answer"
	case r.date.IsZero():
		c.Detail = "not compared: the API does not tell the time"
	case r.off.Abs() <= clockOff:
		c.Detail = "as the API's"
	default:
		way := "ahead of"
		if r.off < 0 {
			way = "behind"
		}
		c.Status, c.Detail = guard.Warn, fmt.Sprintf("%s %s the API's: certificates and tokens may be taken for invalid, and log lines do not match", r.off.Abs().Round(time.Second), way)
		c.Remedy = "synchronize it: timedatectl set-ntp true, or chronyc makestep; in a container or virtual machine, on its host"
	}
	return c
}

// checkAPI asks the API for the stores, where this is not a worker's host.
func (a *app) checkAPI(ctx context.Context, answer apiAnswer) guard.Check {
	c := guard.Check{Name: "API", Status: guard.Warn}
	if environment, err := credential.Lookup(environmentKey); err == nil && environment != "" {
		if key, err := credential.Lookup("ANTHROPIC_API_KEY"); err == nil && key != "" {
			c.Detail = "an API key is on a host that has an environment's key: what gets hold of it can use the whole account"
			c.Remedy = "a worker needs " + environmentKey + " alone: take ANTHROPIC_API_KEY away"
			return c
		}
		if answer.err != nil {
			return unanswered(c, answer.err)
		}
		c.Status, c.Detail = guard.OK, claude.Endpoint(backend.URL())+" answers; a worker's key, sessions bring their own token"
		return c
	}
	b, done, err := a.open()
	if err != nil {
		return unanswered(c, err)
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, apiTime)
	defer cancel()
	infos, err := b.Stores(ctx)
	if err != nil {
		return unanswered(c, err)
	}
	c.Status, c.Detail = guard.OK, fmt.Sprintf("%s answers; %s", b.Endpoint, count(len(infos), "store", "stores"))
	return c
}

func unanswered(c guard.Check, err error) guard.Check {
	c.Detail, c.Remedy = oneLine(err.Error()), exitcode.Remedy(err)
	return c
}
