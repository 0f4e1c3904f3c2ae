package metrics

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Server answers /metrics and /healthz.
type Server struct {
	listener net.Listener
	http     *http.Server
	done     chan struct{}
}

// Listen answers on an address until Close. One without a host, and a bare
// port, is this host's own. healthy says why the process is not well; it is
// called for each /healthz.
func (m *Metrics) Listen(ctx context.Context, address string, healthy func() error) (*Server, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", local(address))
	if err != nil {
		return nil, fmt.Errorf("metrics: %w; choose another address with --metrics-addr", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.gatherers, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if err := healthy(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	s := &Server{listener: l, http: &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(l) // returns when Close is called, and only then
	}()
	return s, nil
}

// Addr is where it listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close ends it.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.done
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func local(address string) string {
	if !strings.Contains(address, ":") {
		address = ":" + address
	}
	if strings.HasPrefix(address, ":") {
		address = "127.0.0.1" + address
	}
	return address
}
