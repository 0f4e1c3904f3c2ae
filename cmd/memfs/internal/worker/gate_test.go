package worker

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A lost lease cuts off what is under way, and lets nothing further out.
func TestGateClosesAtOnce(t *testing.T) {
	arrived := make(chan string, 3)
	web := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		arrived <- r.URL.Path
		switch r.URL.Path {
		case "/hangs":
			<-r.Context().Done()
		case "/streams":
			_ = http.NewResponseController(rw).Flush()
			<-r.Context().Done()
		}
	}))
	t.Cleanup(web.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	open, lose := context.WithCancelCause(t.Context())
	client := &http.Client{Transport: gate{next: transport, open: open}}
	get := func(path string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, web.URL+path, nil)
		require.NoError(t, err)
		return client.Do(req)
	}
	res, err := get("/fine")
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	<-arrived

	stream, err := get("/streams")
	require.NoError(t, err)
	<-arrived
	failed := make(chan error, 1)
	go func() {
		_, err := get("/hangs")
		failed <- err
	}()
	<-arrived
	lose(errLeaseLost)
	require.Error(t, <-failed)
	_, err = io.ReadAll(stream.Body)
	require.Error(t, err)
	require.NoError(t, stream.Body.Close())
	_, err = get("/late")
	require.ErrorIs(t, err, errLeaseLost)
	assert.Empty(t, arrived)
	assert.ErrorContains(t, err, "lease")
}
