package worker_test

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store/local"
)

// ask asks a worker over HTTP, where its log says that it answers.
func (w *worker) ask(path string) (int, string) {
	w.h.t.Helper()
	w.eventually("metrics are served")
	address := regexp.MustCompile(`metrics are served .*"address": "(127\.0\.0\.1:\d+)"`).FindStringSubmatch(w.log.String())
	require.NotNil(w.h.t, address)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get("http://" + address[1] + path)
	require.NoError(w.h.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(w.h.t, err)
	return res.StatusCode, "\n" + string(text)
}

// One address has the metrics of the poller and of every session that it
// serves, by session; also where sessions are isolated.
func TestMetricsOfSessionsAtOneAddress(t *testing.T) {
	for _, how := range []string{"--isolate=off", "--isolate=on"} {
		t.Run(how, func(t *testing.T) {
			h := isolated(t)
			stores := []local.Attachment{h.store("first", nil), h.store("second", nil)}
			w := h.poll("--max-sessions=2", how, "--metrics-addr=0", "--trace")
			first, second := h.open(stores[0]), h.open(stores[1])
			h.do(first, bash("echo one > "+h.at("first", "a.md")))
			h.do(second, bash("echo two > "+h.at("second", "b.md")))
			for i, x := range []*local.Session{first, second} {
				where := `path="` + h.at([]string{"first", "second"}[i]) + `",session="` + x.ID() + `",store="` + stores[i].Store + `"`
				require.Eventually(t, func() bool {
					code, text := w.ask("/metrics")
					return code == http.StatusOK && strings.Contains(text, "\nmemfs_pushed_total{"+where+"} 1\n")
				}, time.Minute, 50*time.Millisecond, "an edit of each session is counted")
				_, text := w.ask("/metrics")
				assert.Contains(t, text, `memfs_fuse_bytes_total{direction="written",session="`+x.ID()+`"} 4`)
				assert.Contains(t, text, `memfs_store_request_seconds_count{kind="create",session="`+x.ID()+`",status="200"} 1`)
				assert.Contains(t, text, "\nmemfs_worker_sessions 2\n")
			}
			code, text := w.ask("/healthz")
			assert.Equal(t, http.StatusOK, code, text)
			w.says(`"trace"`, `"/a.md"`)

			h.finish(first)
			require.Eventually(t, func() bool {
				_, text := w.ask("/metrics")
				return strings.Contains(text, "\nmemfs_worker_items_total{outcome=\"done\"} 1\n") && !strings.Contains(text, first.ID())
			}, time.Minute, 50*time.Millisecond, "what ended is counted, and has no metrics of its own any more")
			h.finish(second)
			assert.Equal(t, 0, w.end())
		})
	}
}

// worker run serves its one session's metrics itself, with the same label.
func TestMetricsOfOneItem(t *testing.T) {
	h := newHost(t, local.Options{})
	notes := h.store("notes", nil)
	x := h.open(notes)
	text, _ := h.claim()
	c := h.command("worker", "run", "--workdir", h.path("work"), "--sync-interval=1", "--metrics-addr=0")
	c.Stdin = strings.NewReader(text)
	w := h.run(c)
	h.do(x, bash("echo one > "+h.at("notes", "a.md")))
	require.Eventually(t, func() bool {
		_, text := w.ask("/metrics")
		return strings.Contains(text, `memfs_pushed_total{path="`+h.at("notes")+`",session="`+x.ID()+`",store="`+notes.Store+`"} 1`)
	}, time.Minute, 50*time.Millisecond)
	code, said := w.ask("/healthz")
	assert.Equal(t, http.StatusOK, code, said)
	h.finish(x)
	assert.Equal(t, 0, w.wait())
}
