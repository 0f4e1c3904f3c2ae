//go:build linux

package hostile

import (
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"memfs/store"
)

// attack is something wrong in what a server lists beside the honest memory.
type attack struct {
	name string
	// entries are listed too.
	entries func(store string) []object
	// refused: nothing is mounted, since the listing as a whole cannot be
	// trusted.
	refused bool
	// hidden is how many of the entries cannot be files, and shown are the paths
	// of those that can (R12).
	hidden int
	shown  []string
}

func at(paths ...string) func(string) []object {
	return func(store string) []object {
		var all []object
		for i, path := range paths {
			all = append(all, memory(store, fmt.Sprint("at", i), path))
		}
		return all
	}
}

func with(fields object) func(string) []object {
	return func(store string) []object { return []object{memory(store, "odd", "/odd.md", fields)} }
}

var listings = []attack{
	{name: "traversal", entries: at("/../escape", "/a/../../escape", "/a/..", "/..", "/./a", "/.", "/a/.", "/a/./b"), hidden: 8},
	{name: "no slash in front", entries: at("etc/passwd", "escape", "..", ".", "a/b/c", "../a"), hidden: 6},
	{name: "empty names", entries: at("//etc/passwd", "/a//b", "/a/", "//", "/"), hidden: 5},
	{name: "control characters", entries: at("/a\x1b]0;title\x07", "/a\nb", "/a\x00b", "/\x7f", "/a\u0085b", "/a\tb", "/a\rb", "/\u009b31m"), hidden: 8},
	{name: "format characters", entries: at("/a\u202eb", "/a\u2028b", "/a\u2029b", "/\ufeffa", "/a\u200db", "/\u2066a"), hidden: 6},
	{name: "not UTF-8", entries: at("/a"+notUTF8, notUTF8), hidden: 2},
	{name: "names too long", entries: at("/"+strings.Repeat("n", 256), "/"+strings.Repeat("n/", 20)+"n", "/"+strings.Repeat("nn/", 400)+"n"), hidden: 3},
	{name: "huge paths", entries: at("/"+strings.Repeat("n", 1<<20), strings.Repeat("n", 1<<20), "/"+strings.Repeat("n/", 1<<19)+"n"), hidden: 3},
	{name: "longest names", entries: at("/" + strings.Repeat("n", 255)), shown: []string{strings.Repeat("n", 255)}},
	{name: "the marker", entries: at("/" + store.MarkerName), hidden: 1},
	{name: "local-only names", entries: at("/.git/config", "/a~"), shown: []string{".git/config", "a~"}},
	{name: "case twins", entries: at("/Case.md", "/case.md"), shown: []string{"Case.md", "case.md"}},
	{name: "NFD twins", entries: at("/\u00e9.md", "/e\u0301.md"), hidden: 1, shown: []string{"\u00e9.md"}},
	{name: "backslashes", entries: at(`/..\..\escape`, `/C:\x`), shown: []string{`..\..\escape`, `C:\x`}},
	{name: "a dead path in every way at once", entries: at("relative/../x\x1b[2J"), hidden: 1},
	{name: "another store's memory", entries: func(string) []object { return []object{memory("memstore_other", "x", "/x")} }, refused: true},
	{name: "id with a path in it", entries: with(object{"id": "../../../sessions/x"}), refused: true},
	{name: "id with a newline", entries: with(object{"id": "mem_\n\x1b[2J"}), refused: true},
	{name: "no id", entries: with(object{"id": ""}), refused: true},
	{name: "huge id", entries: with(object{"id": strings.Repeat("x", 1<<20)}), refused: true},
	{name: "version id with a path in it", entries: with(object{"memory_version_id": "../x"}), refused: true},
	{name: "huge hash", entries: with(object{"content_sha256": strings.Repeat("0", 1<<20)}), refused: true},
	{name: "huge store id", entries: with(object{"memory_store_id": strings.Repeat("x", 1<<20)}), refused: true},
	{name: "no hash", entries: with(object{"content_sha256": ""}), refused: true},
	{name: "hash of zeros", entries: with(object{"content_sha256": strings.Repeat("0", 64)}), refused: true},
	{name: "hash that is none", entries: with(object{"content_sha256": strings.Repeat("\x1b", 64)}), refused: true},
	{name: "negative size", entries: with(object{"content_size_bytes": -1}), refused: true},
	{name: "size of 2^63", entries: with(object{"content_size_bytes": uint64(1) << 63}), refused: true},
	{name: "largest size", entries: with(object{"content_size_bytes": int64(math.MaxInt64)}), refused: true},
	{name: "empty with the hash of something", entries: with(object{"content_size_bytes": 0}), refused: true},
	{name: "something with the hash of nothing", entries: with(object{"content_sha256": sum("")}), refused: true},
	{name: "fields of other types", entries: with(object{"path": []any{"/a"}, "id": 7}), hidden: 1},
	{name: "path that is null", entries: with(object{"path": nil}), refused: true},
	{name: "year 9999", entries: with(object{"updated_at": "9999-12-31T23:59:59Z", "created_at": "9999-12-31T23:59:59Z"}), shown: []string{"odd.md"}},
	{name: "year 0", entries: with(object{"updated_at": "0000-01-01T00:00:00Z", "created_at": "0001-01-01T00:00:00Z"}), shown: []string{"odd.md"}},
	{name: "no time", entries: with(object{"updated_at": nil, "created_at": "yesterday"}), shown: []string{"odd.md"}},
	{name: "things of unknown kinds", entries: func(string) []object { return []object{{"type": "memory_symlink", "path": "/etc"}, {}, {"type": nil}} }},
	{name: "paths under paths", entries: at("/p", "/p/q", "/p/q/r"), shown: nil},
	{name: "one path twice", entries: at("/twice.md", "/twice.md"), shown: nil},
	{name: "one id twice", entries: func(s string) []object {
		return []object{memory(s, "same", "/one.md"), memory(s, "same", "/two.md")}
	}, shown: nil},
}

// R12, R1: what a server lists never leaves the mount, and what cannot be shown
// is counted.
func TestR12_HostileListing(t *testing.T) {
	for _, a := range listings {
		t.Run(a.name, func(t *testing.T) {
			h := newHost(t)
			h.server.lie(also(a.entries))
			p, mounted := h.mount()
			if a.refused {
				require.False(t, mounted, "it was mounted")
				h.failed(p)
				assert.Contains(t, h.log(), "unusable answer from the store")
				h.nothingElse()
				return
			}
			require.True(t, mounted, h.log())
			h.write(minePath, mineText)
			h.keepsUp()
			for _, path := range a.shown {
				assert.FileExists(t, h.at(path))
			}
			if a.shown != nil || a.hidden > 0 {
				assert.Equal(t, a.hidden, h.status().Sync.Hidden)
				assert.Len(t, h.walk(), len(a.shown)+3) // the marker, the honest and the agent's
			}
			if a.hidden > 0 {
				assert.Contains(t, h.log(), `"code":"hidden"`)
			}
			h.safe(p)
		})
	}
}

// keepsUp runs a pass; whether it succeeds is the server's affair.
func (h *host) keepsUp() {
	h.t.Helper()
	r := h.run("sync", h.mnt)
	h.printable(r.stderr + r.stdout)
}

func (h *host) write(path, text string) {
	h.t.Helper()
	require.NoError(h.t, os.WriteFile(h.at(path), []byte(text), 0o600))
}

// walk reads the whole mount and returns the paths of its files.
func (h *host) walk() []string {
	h.t.Helper()
	var files []string
	require.NoError(h.t, filepath.WalkDir(h.mnt, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(h.mnt, path)
		require.NoError(h.t, err)
		require.True(h.t, filepath.IsLocal(rel), path)
		require.True(h.t, d.IsDir() || d.Type().IsRegular(), path)
		if d.Type().IsRegular() {
			files = append(files, rel)
		}
		return nil
	}))
	return files
}

// nothingElse requires that nothing outside of memfs's own directories was
// made.
func (h *host) nothingElse() {
	h.t.Helper()
	entries, err := os.ReadDir(h.dir)
	require.NoError(h.t, err)
	for _, e := range entries {
		assert.Contains(h.t, []string{"mnt", "run", "state", "log", "work", "home"}, e.Name(), "something was made beside the mount")
	}
	for _, escaped := range []string{"/escape", "/x", filepath.Join(filepath.Dir(h.dir), "escape"), filepath.Join(h.dir, "mnt", "..", "escape")} {
		assert.NoFileExists(h.t, escaped)
	}
}

// safe requires that an attack left memfs and the agent's files well, and ends
// memfs.
func (h *host) safe(p *process) {
	h.t.Helper()
	p.look()
	s := h.status()
	assert.Zero(h.t, s.Panics)
	for path, want := range map[string]string{honestPath: honestText, minePath: mineText} {
		got, err := os.ReadFile(h.at(path))
		assert.NoError(h.t, err)
		assert.Equal(h.t, want, string(got), path)
	}
	for _, args := range [][]string{{"status", h.mnt}, {"inspect", h.at(honestPath)}, {"conflicts"}} {
		r := h.run(args...)
		h.printable(r.stdout)
		h.printable(r.stderr)
	}
	h.nothingElse()
	h.server.lie(nil)
	code := p.stop()
	assert.Contains(h.t, []int{0, 6}, code, "it ended with %d:\n%s", code, tail(h.log()))
	assert.Equal(h.t, honestText, h.remote()[honestPath])
	if code == 0 {
		assert.Equal(h.t, mineText, h.remote()[minePath], "what was acknowledged is in the store")
	}
}

// R5: listings that never end do end, and those of one store do not fill this
// host's memory.
func TestR5_EndlessListings(t *testing.T) {
	for name, next := range map[string]func(r *http.Request, n int) (page string, entries int){
		"a cursor that stands":              func(*http.Request, int) (string, int) { return "same", 1 },
		"cursors that go round":             func(_ *http.Request, n int) (string, int) { return strconv.Itoa(n % 3), 1 },
		"empty pages for ever":              func(_ *http.Request, n int) (string, int) { return strconv.Itoa(n), 0 },
		"pages of the same for ever":        func(_ *http.Request, n int) (string, int) { return strconv.Itoa(n), -1 },
		"pages of new memories for ever":    func(_ *http.Request, n int) (string, int) { return strconv.Itoa(n), 100 },
		"more memories than asked in pages": func(_ *http.Request, n int) (string, int) { return strconv.Itoa(n), 5000 },
		"a huge cursor":                     func(_ *http.Request, n int) (string, int) { return strings.Repeat("c", 1<<20) + strconv.Itoa(n), 1 },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			n := 0
			h.server.lie(func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
				if !isList(r) {
					return false
				}
				h.server.mu.Lock()
				n++
				mine := n
				h.server.mu.Unlock()
				page, entries := next(r, mine)
				data := []object{}
				for i := range max(entries, -entries) {
					id := fmt.Sprintf("%d-%d", mine, i)
					if entries < 0 {
						id = "same"
					}
					data = append(data, memory(storeOf(r), id, "/"+id+".md"))
				}
				say(w, 200, object{"data": data, "next_page": page})
				return true
			})
			p, mounted := h.mount()
			require.False(t, mounted, "it was mounted")
			h.failed(p)
			assert.Contains(t, h.log(), "unusable answer from the store")
			h.nothingElse()
		})
	}
}

// R5: directories that never end do not either.
func TestR5_EndlessDirectories(t *testing.T) {
	for name, prefixes := range map[string]func(r *http.Request) []string{
		"one below another for ever": func(r *http.Request) []string { return []string{r.URL.Query().Get("path_prefix") + "/d/"} },
		"itself":                     func(r *http.Request) []string { return []string{r.URL.Query().Get("path_prefix")} },
		"the root":                   func(*http.Request) []string { return []string{"/", ""} },
		"elsewhere":                  func(*http.Request) []string { return []string{"/../", "relative", "/\x1b[2J/", "/a//b/"} },
		"a great many": func(*http.Request) []string {
			many := make([]string, 50_000)
			for i := range many {
				many[i] = fmt.Sprintf("/%d/", i)
			}
			return many
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.server.lie(func(w http.ResponseWriter, r *http.Request, honest http.Handler) bool {
				if !isList(r) {
					return false
				}
				data := []object{}
				for _, prefix := range prefixes(r) {
					data = append(data, object{"type": "memory_prefix", "path": prefix})
				}
				answer := object{"data": data}
				if r.URL.Query().Get("depth") == "" { // so many that one looks at what is below
					for i := range 100 {
						id := fmt.Sprint(len(r.URL.RawQuery), "-", i)
						data = append(data, memory(storeOf(r), id, "/z/y/x/"+id))
					}
					answer = object{"data": data, "next_page": "more"}
				}
				say(w, 200, answer)
				return true
			})
			began := time.Now()
			p, mounted := h.mount()
			require.False(t, mounted, "it was mounted")
			h.failed(p)
			assert.Less(t, time.Since(began), 2*time.Minute)
			h.nothingElse()
		})
	}
}

// A store of ten times as many memories as a store may have is mounted, and
// used, within bounds of memory.
func TestR11_TooManyMemories(t *testing.T) {
	const many = 100_000
	h := newHost(t)
	h.server.lie(func(w http.ResponseWriter, r *http.Request, honest http.Handler) bool {
		if !isList(r) {
			return false
		}
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		data := []object{}
		if page == 0 {
			edit(w, r, honest, func(body object) {
				entries, _ := body["data"].([]any)
				for i := range 99 {
					entries = append(entries, memory(storeOf(r), fmt.Sprint("0-", i), fmt.Sprintf("/0/%d.md", i)))
				}
				body["data"], body["next_page"] = entries, "1"
			})
			return true
		}
		for i := range 100 {
			data = append(data, memory(storeOf(r), fmt.Sprintf("%d-%d", page, i), fmt.Sprintf("/%d/%d.md", page, i)))
		}
		answer := object{"data": data}
		if page < many/100 {
			answer["next_page"] = strconv.Itoa(page + 1)
		}
		say(w, 200, answer)
		return true
	})
	p, mounted := h.mount("--hydrate=off")
	require.True(t, mounted, tail(h.log()))
	assert.Greater(t, len(h.walk()), many)
	p.look()
	assert.GreaterOrEqual(t, h.status().Memories, many)
	assert.ErrorIs(t, os.WriteFile(h.at(minePath), []byte(mineText), 0o600), unix.ENOSPC)
	h.write(honestPath, "edited\n")
	h.server.lie(nil)
	_ = p.stop()
	h.nothingElse()
}
