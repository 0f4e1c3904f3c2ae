package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is a live memfs process that answered.
type Process struct {
	Report
	client *http.Client
}

// Processes asks every memfs process whose socket is in dir for its report, and
// removes the sockets of dead ones. Those that do not answer within some seconds
// are left out and named in the error.
func Processes(ctx context.Context, dir string) ([]*Process, error) {
	paths := sockets(dir)
	live, failed := make([]*Process, len(paths)), make([]error, len(paths))
	var asking sync.WaitGroup
	for i, path := range paths { // all at once: one that hangs must not hold up the others
		asking.Go(func() {
			p, err := dial(ctx, path)
			switch {
			case err == nil:
				live[i] = p
			case errors.Is(err, syscall.ECONNREFUSED):
				_ = os.Remove(path)
			case errors.Is(err, os.ErrNotExist): // it ended just now
			default:
				failed[i] = fmt.Errorf("memfs process at %s does not answer: %w", path, err)
			}
		})
	}
	asking.Wait()
	return slices.DeleteFunc(live, func(p *Process) bool { return p == nil }), errors.Join(failed...)
}

// answerTime bounds how long a process may take to report.
const answerTime = 10 * time.Second

func dial(ctx context.Context, path string) (*Process, error) {
	p := &Process{client: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
		DisableKeepAlives: true,
	}}}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if err := p.call(ctx, http.MethodGet, "status", nil, &p.Report); err != nil {
		return nil, err
	}
	return p, nil
}

// Serves reports which mount of the process path is, or lies in.
func (p *Process) Serves(path string) (mount string, ok bool) {
	for _, m := range p.Mounts {
		if path == m.Path || strings.HasPrefix(path, m.Path+"/") {
			return m.Path, true
		}
	}
	return "", false
}

// Sync runs a pass in the process, waits for it and tells how the mounts are
// then, also where the pass of one failed.
func (p *Process) Sync(ctx context.Context, r SyncRequest) ([]Synced, error) {
	var answer syncAnswer
	if err := p.call(ctx, http.MethodPost, "sync", r, &answer); err != nil {
		return nil, err
	}
	if answer.Failure != nil {
		return answer.Mounts, answer.Failure.err()
	}
	return answer.Mounts, nil
}

// Metrics are what the process counts, see package metrics; none where it
// counts nothing.
func (p *Process) Metrics(ctx context.Context) (encoded []byte, err error) {
	err = p.call(ctx, http.MethodGet, "metrics", nil, &encoded)
	return encoded, err
}

// Detach ends all mounts of the process and waits until they are gone. The
// error tells, by its exit code too, whether edits were kept.
func (p *Process) Detach(ctx context.Context) error {
	return p.call(ctx, http.MethodPost, "detach", nil, nil)
}

func (p *Process) call(ctx context.Context, method, what string, send, receive any) error {
	body, err := json.Marshal(send)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://memfs/v1/"+what, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := p.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		var f failure
		if err := json.NewDecoder(response.Body).Decode(&f); err != nil {
			return fmt.Errorf("memfs process %d: %s", p.PID, response.Status)
		}
		return f.err()
	}
	if receive == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(receive)
}
