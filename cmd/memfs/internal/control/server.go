package control

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

// Session is what a process lets its commands do. Errors keep their exit code
// on the way to the command.
type Session interface {
	// Report tells how the mounts are.
	Report() Report
	// Sync runs a pass, waits for it and tells how the mounts are then, also
	// where the pass of one failed.
	Sync(ctx context.Context, r SyncRequest) ([]Synced, error)
	// Detach ends the process's mounts and returns how that went.
	Detach(ctx context.Context) error
	// Metrics are what the process counts, see package metrics; none where
	// nobody wants them.
	Metrics() ([]byte, error)
}

// Server answers the commands that reach this process.
type Server struct {
	path string
	http *http.Server
	done chan struct{}
}

// Listen makes this process's socket in dir and answers on it.
func Listen(dir string, session Session) (*Server, error) {
	l, err := listen(dir)
	if err != nil {
		return nil, err
	}
	s := &Server{
		path: l.path,
		http: &http.Server{Handler: handler(session), ReadHeaderTimeout: 10 * time.Second},
		done: make(chan struct{}),
	}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(l) // returns when Close is called, and only then
	}()
	return s, nil
}

// Path is where the socket is.
func (s *Server) Path() string { return s.path }

// Close takes the socket away and waits for the answers that are being given,
// at most until ctx ends.
func (s *Server) Close(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	<-s.done
	return err
}

func handler(session Session) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, session.Report(), nil)
	})
	mux.HandleFunc("POST /v1/sync", func(w http.ResponseWriter, r *http.Request) {
		var request SyncRequest
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		mounts, err := session.Sync(r.Context(), request)
		answer := syncAnswer{Mounts: mounts}
		if err != nil {
			f := failureOf(err)
			answer.Failure = &f
		}
		reply(w, answer, nil)
	})
	mux.HandleFunc("GET /v1/metrics", func(w http.ResponseWriter, _ *http.Request) {
		metrics, err := session.Metrics()
		reply(w, metrics, err)
	})
	mux.HandleFunc("POST /v1/detach", func(w http.ResponseWriter, r *http.Request) {
		reply(w, struct{}{}, session.Detach(r.Context()))
	})
	return mux
}

// reply ignores that the asker may have gone: nobody is left to be told.
func reply(w http.ResponseWriter, result any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		_ = json.NewEncoder(w).Encode(failureOf(err))
		return
	}
	_ = json.NewEncoder(w).Encode(result)
}
