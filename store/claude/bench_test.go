package claude_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"memfs/store"
	"memfs/store/claude"
)

// canned answers every request with one body.
type canned string

func (c canned) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK,
		Header:     http.Header{"Content-Type": {"application/json"}},
		Body:       io.NopCloser(strings.NewReader(string(c))),
	}, nil
}

// BenchmarkList decodes and checks one full-sized basic page. Attaching a
// store of 10,000 memories takes a hundred of them.
func BenchmarkList(b *testing.B) {
	items := make([]object, store.MaxBasicPage)
	for i := range items {
		items[i] = memory(fmt.Sprintf("mem_%03d", i), fmt.Sprintf("/dir/%03d.md", i), "text", false)
	}
	body, err := json.Marshal(page(nil, items...))
	if err != nil {
		b.Fatal(err)
	}
	api, err := claude.New(claude.Config{Credential: credential, HTTPClient: &http.Client{Transport: canned(body)}})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := api.Reader(storeID).List(b.Context(), store.ListQuery{}); err != nil {
			b.Fatal(err)
		}
	}
}
