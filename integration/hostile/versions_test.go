//go:build linux

package hostile

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// R5, R12: what a history tells while a store is mounted is no more believed
// than a listing.
func TestR5_HostileVersions(t *testing.T) {
	var n atomic.Int64
	fresh := func() string { return fmt.Sprint("v", n.Add(1)) }
	for name, versions := range map[string]func(store string) []object{
		"traversal": func(s string) []object {
			return []object{version(s, fresh(), "/../escape"), version(s, fresh(), "/a/../../escape")}
		},
		"no slash in front": func(s string) []object { return []object{version(s, fresh(), "escape"), version(s, fresh(), "..")} },
		"control characters": func(s string) []object {
			return []object{version(s, fresh(), "/a\x1b[2J\n"), version(s, fresh(), "/\u009b")}
		},
		"not UTF-8":           func(s string) []object { return []object{version(s, fresh(), "/"+notUTF8)} },
		"an unknown deletion": func(s string) []object { return []object{version(s, fresh(), "/x", object{"operation": "deleted"})} },
		"an unknown act":      func(s string) []object { return []object{version(s, fresh(), "/x", object{"operation": "\x1b[2J"})} },
		"another store's":     func(string) []object { return []object{version("memstore_other", fresh(), "/x")} },
		"ids with paths":      func(s string) []object { return []object{version(s, fresh(), "/x", object{"memory_id": "../../x"})} },
		"no time":             func(s string) []object { return []object{version(s, fresh(), "/x", object{"created_at": nil})} },
		"year 9999": func(s string) []object {
			return []object{version(s, fresh(), "/x", object{"created_at": "9999-12-31T23:59:59Z"})}
		},
		"year 1": func(s string) []object {
			return []object{version(s, fresh(), "/x", object{"created_at": "0001-01-01T00:00:01Z"})}
		},
		"sizes that lie": func(s string) []object { return []object{version(s, fresh(), "/x", object{"content_size_bytes": -5})} },
		"one id many times": func(s string) []object {
			return []object{version(s, "same", "/one"), version(s, "same", "/two"), version(s, "same", "/one/under")}
		},
		"an author of many words": func(s string) []object {
			return []object{version(s, fresh(), "/x", object{"created_by": object{"type": "\x1b[2J_actor", "session_id": "\n\n\u202e"}})}
		},
		"new ones for ever": func(s string) (all []object) {
			for range 100 {
				id := fresh()
				all = append(all, version(s, id, "/"+id, object{"created_at": "2030-01-02T03:04:05Z"}))
			}
			return all
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, p := mounted(t, "--hydrate=off")
			require.Zero(t, h.run("sync", h.mnt).code)
			h.server.lie(func(w http.ResponseWriter, r *http.Request, honest http.Handler) bool {
				if !strings.HasSuffix(r.URL.Path, "/memory_versions") {
					return false
				}
				edit(w, r, honest, func(body object) {
					data, _ := body["data"].([]any)
					var all []any
					for _, v := range versions(storeOf(r)) {
						all = append(all, v)
					}
					body["data"] = append(all, data...)
					if name == "new ones for ever" {
						body["next_page"] = fresh()
					}
				})
				return true
			})
			for range 2 {
				h.keepsUp()
				p.look()
			}
			h.walk()
			r := h.run("history", h.at(honestPath))
			h.printable(r.stdout)
			h.printable(r.stderr)
			assert.Zero(t, h.status().Panics)
			h.server.lie(nil)
			h.safe(p)
		})
	}
}

// R19: names of stores do nothing to a terminal, nor to the lines of a table.
func TestR19_HostileNamesOnATerminal(t *testing.T) {
	h := newHost(t)
	evil := "x\x1b]0;t\x07\u009b2J\u202e\n\tmemstore_FAKE\u2028"
	h.server.lie(func(w http.ResponseWriter, r *http.Request, honest http.Handler) bool {
		if r.URL.Path != "/v1/memory_stores" && !strings.HasSuffix(r.URL.Path, "/"+h.store) {
			return false
		}
		edit(w, r, honest, func(body object) {
			if data, listing := body["data"].([]any); listing {
				for _, s := range data {
					s.(object)["name"] = evil
				}
				return
			}
			body["name"], body["description"] = evil, evil
		})
		return true
	})
	r := h.run("store", "list")
	require.Zero(t, r.code, r.stderr)
	h.printable(r.stdout)
	assert.Equal(t, 2, strings.Count(r.stdout, "\n"), "%q", r.stdout)
	r = h.run("mount", "no such store:"+h.mnt)
	assert.NotZero(t, r.code)
	h.printable(r.stderr)
	p, ok := h.mount()
	require.True(t, ok, h.log())
	h.write(minePath, mineText)
	r = h.run("status", h.mnt)
	h.printable(r.stdout)
	assert.NotRegexp(t, `(?m)^\s*memstore_FAKE`, r.stdout)
	h.safe(p)
}
