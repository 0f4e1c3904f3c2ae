//go:build linux

package hostile

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// body writes an answer that is not what the API would say.
type body func(w http.ResponseWriter, r *http.Request)

func text200(body string) body {
	return func(w http.ResponseWriter, _ *http.Request) { raw(w, 200, []byte(body)) }
}

// forever writes a text until nobody listens any more.
func forever(text string) body {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for block := []byte(strings.Repeat(text, 1+(64<<10)/len(text))); ; {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}
}

func bodies(t testing.TB) map[string]body {
	t.Helper()
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, err := z.Write([]byte(`{"data":[`))
	require.NoError(t, err)
	for block, i := bytes.Repeat([]byte(" "), 1<<20), 0; i < 256; i++ {
		_, err := z.Write(block)
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return map[string]body{
		"nothing":          text200(""),
		"garbage":          text200("\x00\x1b[2J\xff\xfe{{{"),
		"null":             text200("null"),
		"an array":         text200("[]"),
		"a string":         text200(`"\u001b]0;x\u0007"`),
		"an error":         text200(`{"type":"error","error":{"type":"not_found_error","message":"\u001b[2J gone"}}`),
		"deep arrays":      text200(`{"data":` + strings.Repeat("[", 2<<20)),
		"deep objects":     text200(`{"data":[` + strings.Repeat(`{"content":`, 200_000)),
		"deep and closed":  text200(`{"data":[],"x":` + strings.Repeat(`[`, 9_000) + strings.Repeat(`]`, 9_000) + "}"),
		"huge numbers":     text200(`{"data":[{"type":"memory","content_size_bytes":1e999,"id":` + strings.Repeat("9", 1<<20) + `}]}`),
		"many values":      text200(`{"data":[` + strings.Repeat("0,", 2_000_000) + `0]}`),
		"many keys":        text200(`{` + strings.Repeat(`"a":1,`, 600_000) + `"data":[]}`),
		"one long string":  text200(`{"data":[{"type":"memory","id":"` + strings.Repeat("x", 20<<20) + `"}]}`),
		"endless spaces":   forever(" "),
		"endless entries":  forever(`{"type":"memory"},`),
		"html that is 500": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<h1>\x1b[31msorry</h1>", 500) },
		"endless and 500": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(500)
			forever("\x1b[2J")(w, r)
		},
		"teapot":            func(w http.ResponseWriter, _ *http.Request) { raw(w, 418, []byte(`{"error":{"type":"\u001b[2J\n"}}`)) },
		"unlimited wait":    func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "1e300"); raw(w, 529, nil) },
		"wait that is none": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "NaN"); raw(w, 429, nil) },
		"a gzip bomb": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			raw(w, 200, bomb.Bytes())
		},
		"gzip that is none": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			raw(w, 200, []byte("{}"))
		},
		"huge headers": func(w http.ResponseWriter, _ *http.Request) {
			for i := range 20 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("h", 1<<20))
			}
			raw(w, 200, []byte(`{"data":[]}`))
		},
		"a length that lies": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "4000000")
			raw(w, 200, []byte(`{"data":[`))
		},
		"cut off": func(w http.ResponseWriter, _ *http.Request) {
			raw(w, 200, []byte(`{"data":[`))
			panic(http.ErrAbortHandler)
		},
	}
}

// R14: whatever an answer is, it takes little memory and time, nothing is
// mounted on the strength of it, and what is wrong is said.
func TestR14_HostileBodiesAtAttach(t *testing.T) {
	for name, answer := range bodies(t) {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.server.lie(func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
				answer(w, r)
				return true
			})
			p, mounted := h.mount()
			require.False(t, mounted, "it was mounted")
			h.failed(p)
			assert.NoDirExists(t, h.mnt)
			h.nothingElse()
		})
	}
}

// R14: whatever the answers are, the files of the mount can be used, and what
// was written goes out when the server is itself again.
func TestR14_HostileBodiesWhileMounted(t *testing.T) {
	h := newHost(t)
	p, mounted := h.mount()
	require.True(t, mounted, h.log())
	h.write(minePath, mineText)
	want := map[string]string{honestPath: honestText, minePath: mineText}
	n := 0
	for name, answer := range bodies(t) {
		h.server.lie(func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
			answer(w, r)
			return true
		})
		n++
		path := fmt.Sprintf("/%d.md", n)
		want[path] = name + "\n"
		h.write(path, want[path])
		r := h.run("sync", h.mnt)
		assert.NotZero(t, r.code, "%s: the pass succeeded", name)
		h.printable(r.stderr)
		assert.Zero(t, h.status().Panics)
		p.look()
		got, err := os.ReadFile(h.at(path))
		assert.NoError(t, err)
		assert.Equal(t, want[path], string(got))
	}
	h.server.lie(nil)
	require.Eventually(t, func() bool { return h.run("sync", h.mnt).code == 0 }, time.Minute, time.Second)
	assert.Equal(t, want, h.remote())
	h.safe(p)
}

// R14: an answer that drips is given up, and does not keep files waiting.
func TestR14_Drip(t *testing.T) {
	h := newHost(t)
	p, mounted := h.mount("--hydrate=off")
	require.True(t, mounted, h.log())
	h.write(minePath, mineText)
	h.server.lie(func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		w.Header().Set("Content-Type", "application/json")
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte(" "))
			_ = http.NewResponseController(w).Flush()
			time.Sleep(100 * time.Millisecond)
		}
		return true
	})
	began := time.Now()
	_, err := os.ReadFile(h.at(honestPath))
	assert.Error(t, err, "its content is not here")
	assert.Less(t, time.Since(began), time.Minute)
	got, err := os.ReadFile(h.at(minePath))
	assert.NoError(t, err)
	assert.Equal(t, mineText, string(got))
	h.server.lie(nil)
	require.Eventually(t, func() bool { _, err := os.ReadFile(h.at(honestPath)); return err == nil }, time.Minute, time.Second)
	h.safe(p)
}

// R19: the credential goes to the API and to nobody whom the API names.
func TestR19_RedirectsAreNotFollowed(t *testing.T) {
	var visits atomic.Int64
	stranger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { visits.Add(1) }))
	defer stranger.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		h := newHost(t)
		h.server.lie(func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
			w.Header().Set("Location", stranger.URL+r.URL.Path)
			w.WriteHeader(status)
			return true
		})
		p, mounted := h.mount()
		require.False(t, mounted)
		h.failed(p)
		for _, args := range [][]string{{"store", "list"}, {"store", "create", "x"}} {
			r := h.run(args...)
			assert.NotZero(t, r.code)
			h.printable(r.stderr)
		}
	}
	assert.Zero(t, visits.Load(), "the redirect was followed")
}

// R2: content that is not what was listed is never shown, and never what an
// edit is based on.
func TestR2_HostileContents(t *testing.T) {
	big := strings.Repeat("x", 10<<20)
	for name, fields := range map[string]object{
		"other text":           {"content": "other\n"},
		"other text and hash":  {"content": "other\n", "content_sha256": sum("other\n"), "content_size_bytes": 6},
		"null":                 {"content": nil},
		"10 MB":                {"content": big},
		"10 MB with its hash":  {"content": big, "content_sha256": sum(big), "content_size_bytes": len(big)},
		"a number":             {"content": 7},
		"another memory":       {"id": "mem_other"},
		"another store's":      {"memory_store_id": "memstore_other"},
		"a size that lies":     {"content_size_bytes": 3},
		"not UTF-8, so to say": {"content": "from the \ufffd store\n"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.server.lie(func(w http.ResponseWriter, r *http.Request, honest http.Handler) bool {
				one := strings.Contains(r.URL.Path, "/memories/") || strings.Contains(r.URL.Path, "/memory_versions/")
				if r.Method != http.MethodGet || !one && r.URL.Query().Get("view") != "full" {
					return false
				}
				edit(w, r, honest, func(body object) {
					targets := []any{body}
					if data, listing := body["data"].([]any); listing {
						targets = data
					}
					for _, target := range targets {
						for k, v := range fields {
							target.(object)[k] = v
						}
					}
				})
				return true
			})
			p, mounted := h.mount()
			require.True(t, mounted, h.log())
			h.write(minePath, mineText)
			got, err := os.ReadFile(h.at(honestPath))
			if assert.Error(t, err, "%.100q", got) {
				f, err := os.OpenFile(h.at(honestPath), os.O_WRONLY|os.O_APPEND, 0)
				require.NoError(t, err)
				_, err = io.WriteString(f, "more")
				assert.Error(t, err, "an edit of what nobody has")
				_ = f.Close() // the write failed
			}
			h.run("sync", h.mnt)
			h.server.lie(nil)
			require.Eventually(t, func() bool { _, err := os.ReadFile(h.at(honestPath)); return err == nil }, time.Minute, time.Second)
			h.safe(p)
		})
	}
}
