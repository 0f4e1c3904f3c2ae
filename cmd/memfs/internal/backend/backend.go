// Package backend gives a command its memory-store API: the one that the SDK's
// variables name, or the embedded store of a directory, in this process.
package backend

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"go.uber.org/zap"

	"memfs/cmd/memfs/internal/credential"
	"memfs/cmd/memfs/internal/exitcode"
	"memfs/store/claude"
	"memfs/store/local"
)

// Backend is an API that is ready for use.
type Backend struct {
	*claude.API
	// Endpoint tells one API from another: its address, or where the embedded
	// store lies.
	Endpoint string
	close    func() error
}

// defaultURL is where the SDK goes where nothing else is said.
const defaultURL = "https://api.anthropic.com"

// URL is the address of the API.
func URL() string { return cmp.Or(os.Getenv("ANTHROPIC_BASE_URL"), defaultURL) }

// CheckURL says what is wrong with what the variable names.
func CheckURL() error {
	u, err := url.Parse(URL())
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return exitcode.Errorf(exitcode.Usage, "ANTHROPIC_BASE_URL=%q is no address of an API: set it to http://HOST or https://HOST, or unset it", URL())
	}
	return nil
}

// Open returns the embedded store in dir, or the API where dir is "". The
// caller closes it.
func Open(dir string, log *zap.Logger) (*Backend, error) { return OpenWrapped(dir, log, nil) }

// OpenWrapped is Open with something around what carries the requests; see
// claude.Config.
func OpenWrapped(dir string, log *zap.Logger, wrap func(http.RoundTripper) http.RoundTripper) (*Backend, error) {
	if dir != "" {
		return embedded(dir, log, wrap)
	}
	if err := CheckURL(); err != nil {
		return nil, err
	}
	if err := credential.Adopt(); err != nil {
		return nil, err
	}
	api, err := claude.New(claude.Config{Log: log, Wrap: wrap})
	if err != nil {
		return nil, err
	}
	return &Backend{API: api, Endpoint: claude.Endpoint(URL()), close: func() error { return nil }}, nil
}

func embedded(dir string, log *zap.Logger, wrap func(http.RoundTripper) http.RoundTripper) (*Backend, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("local store: %w", err)
	}
	server, err := local.Open(dir, local.Options{Log: log})
	if err != nil {
		return nil, err
	}
	api, err := claude.New(claude.Config{
		BaseURL:    "http://memfs.invalid",
		Credential: "local",
		HTTPClient: &http.Client{Transport: transport{server.Handler()}},
		Wrap:       wrap,
		Log:        log,
	})
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return &Backend{API: api, Endpoint: "local:" + dir, close: server.Close}, nil
}

// Close ends it; requests must have ended.
func (b *Backend) Close() error {
	b.API.Close()
	return b.close()
}
