package mounttest

import (
	"errors"
	"net/http"
	"net/http/httptest"

	"memfs/store/claude"
	"memfs/store/local"
)

// openAPI reaches the stores: over HTTP, or in this process in a directory
// that several processes have open. The caller ends it.
func openAPI(c config) (*claude.API, func() error, error) {
	if c.URL != "" {
		api, err := claude.New(claude.Config{BaseURL: c.URL, Credential: "test"})
		if err != nil {
			return nil, nil, err
		}
		return api, func() error { api.Close(); return nil }, nil
	}
	stores, err := local.Open(c.Stores, local.Options{MaxMemories: c.MaxMemories})
	if err != nil {
		return nil, nil, err
	}
	api, err := claude.New(claude.Config{
		BaseURL: "http://memfs.invalid", Credential: "test", HTTPClient: &http.Client{Transport: inProcess{stores.Handler()}},
	})
	if err != nil {
		return nil, nil, errors.Join(err, stores.Close())
	}
	return api, stores.Close, nil
}

// inProcess answers requests with a handler.
type inProcess struct{ handler http.Handler }

// RoundTrip is http.RoundTripper's.
func (p inProcess) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body == nil {
		request.Body = http.NoBody
	}
	answer := httptest.NewRecorder()
	p.handler.ServeHTTP(answer, request)
	return answer.Result(), request.Context().Err()
}
