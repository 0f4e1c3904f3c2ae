package reconcile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"memfs/store"
	"memfs/store/replica"
)

// pass is a timed pass that must succeed; it returns its requests.
func (b *bench) passed() []string {
	b.Helper()
	b.called()
	_, err := b.rec.Pass(b.Context(), PassOptions{})
	require.NoError(b, err)
	return b.called()
}

func listed(calls []string) bool {
	return slices.ContainsFunc(calls, func(c string) bool { return strings.HasPrefix(c, "list") })
}

func TestR5_NewestVersionOfAMemoryDecides(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/f", "v0") }, func(b *bench) {
		b.put("/f", "v1")
		b.move("/f", "/g")
		b.put("/g", "v2")
		b.put("/new", "short-lived")
		b.drop("/new")
		calls := b.passed()
		require.False(t, listed(calls))
		require.Equal(t, map[string]string{"/g": "v2"}, b.tree())
		b.converged()
	})
}

func TestR5_VersionsOfOneTimeAreAskedFor(t *testing.T) {
	withBench(t, func(b *bench) { b.still = true; b.put("/f", "v0"); b.put("/h", "v0") }, func(b *bench) {
		// The ids say nothing about the order: the later one sorts first or last.
		for i := range 4 {
			b.put("/f", fmt.Sprint("v", i+1))
			b.seq += 1000 - 2*i*300
		}
		b.drop("/h")
		b.passed()
		require.Equal(t, map[string]string{"/f": "v4"}, b.tree())
		require.Len(t, b.passed(), 1)
	})
}

func TestR5_AStoreClockSetBackIsNoticedByTheListing(t *testing.T) {
	withBench(t, func(b *bench) { b.skew = 300 * 24 * time.Hour; b.put("/f", "v0") }, func(b *bench) {
		b.skew = -300 * 24 * time.Hour
		b.put("/f", "v1")
		b.put("/new", "new")
		b.passed()
		time.Sleep(listEvery)
		require.True(t, listed(b.passed()))
		require.Equal(t, map[string]string{"/f": "v1", "/new": "new"}, b.tree())
		b.write("/f", "mine")
		b.sync()
		b.put("/new", "newer")
		time.Sleep(replica.Quiet)
		require.True(t, listed(b.passed()), "our own write shows it at once")
		require.Equal(t, "newer", b.read("/new"))
		b.converged()
	})
}

func TestR5_TheHostsClockIsOfNoConsequence(t *testing.T) {
	for _, skew := range []time.Duration{-1000 * time.Hour, 1000 * time.Hour} {
		withBench(t, func(b *bench) { b.skew = skew; b.created = b.now() }, func(b *bench) {
			require.Empty(t, b.tree())
			b.put("/f", "v0")
			b.passed()
			require.Equal(t, "v0", b.read("/f"), "the first cursor is the store's creation")
			b.write("/f", "mine")
			b.sync()
			b.put("/f", "theirs")
			time.Sleep(replica.Quiet)
			b.passed()
			require.Equal(t, "theirs", b.read("/f"))
		})
	}
}

func TestR5_WhatTheListingHadIsNoNews(t *testing.T) {
	withBench(t, func(b *bench) {
		b.page = 10
		for i := range 100 {
			b.put(fmt.Sprint("/", i), "written within a minute")
		}
	}, func(b *bench) {
		b.put("/5", "new")
		require.Equal(t, []string{"versions limit=0 page=", "versions limit=0 page=memver_000092"}, b.passed(),
			"a page with the news and one without, and not ten and a listing")
		require.Equal(t, "new", b.read("/5"))
	})
}

func TestR5_WhatTheListingMissedIsFoundBehindWhatItSaw(t *testing.T) {
	withBench(t, func(b *bench) {
		b.page = 10
		for i := range 40 {
			b.put(fmt.Sprintf("/%02d", i), "old")
		}
		var pages atomic.Int32
		first := make(chan struct{})
		b.after = func(call string) error {
			if call == "list  full=false children=false" {
				close(first)
			}
			return nil
		}
		b.before = func(call string) error {
			if call == "list  full=false children=true" && pages.Add(1) == 2 {
				<-first // which is asked for beside it
				for i := range 40 {
					b.put(fmt.Sprintf("/%02d", i), "new")
				}
			}
			return nil
		}
	}, func(b *bench) {
		require.Equal(t, "old", b.read("/05"))
		b.hook(nil, nil)
		b.passed()
		b.converged()
	})
}

func TestR5_VersionsRefusedMeansListing(t *testing.T) {
	for _, refusal := range []error{store.ErrUnauthorized, store.ErrNotFound} {
		withBench(t, func(b *bench) {
			b.put("/f", "v0")
			b.put("/gone", "v0")
			b.before = func(call string) error {
				if strings.HasPrefix(call, "versions") {
					return fmt.Errorf("versions: %w", refusal)
				}
				return nil
			}
		}, func(b *bench) {
			b.put("/f", "v1")
			b.drop("/gone")
			calls := b.passed()
			require.True(t, listed(calls))
			require.Equal(t, map[string]string{"/f": "v1"}, b.tree())
			require.Equal(t, []string{"list  full=false children=false"}, b.passed(), "versions are not asked for each time")
			require.Zero(t, b.warned("unauthorized"))
			b.hook(nil, nil)
			time.Sleep(listEvery + time.Second)
			b.passed()
			require.False(t, listed(b.passed()), "but now and then, and here they are again")
		})
	}
}

func TestR5_ManyPagesOfVersionsMeanListing(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/f", "v0"); b.page = 5 }, func(b *bench) {
		for i := range 60 {
			b.put(fmt.Sprintf("/%d", i%7), fmt.Sprint(i))
		}
		require.True(t, listed(b.passed()))
		require.Equal(t, b.texts(), b.tree())
		require.Len(t, b.passed(), 1, "what is listed is no news")
		time.Sleep(2 * overlap)
		b.put("/1", "again")
		b.passed()
		time.Sleep(2 * overlap)
		b.put("/1", "and again")
		require.False(t, listed(b.passed()))
		b.converged()
	})
}

func TestR5_PagesOfVersionsThatMove(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/f", "v0"); b.page = 3 }, func(b *bench) {
		for i := range 10 {
			b.put(fmt.Sprintf("/%d", i), "text")
		}
		n := 0
		b.hook(nil, func(call string) error {
			if strings.HasPrefix(call, "versions") && n < 2 {
				n++
				b.put(fmt.Sprintf("/while%d", n), "text")
			}
			return nil
		})
		b.passed()
		b.hook(nil, nil)
		b.passed()
		require.Equal(t, b.texts(), b.tree())
		b.converged()
	})
}

func TestR5_RedactedVersionsSayNothing(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/f", "v0"); b.put("/h", "v0") }, func(b *bench) {
		redact := func(i int) {
			v := &b.versions[i]
			v.Path, v.Content, v.SHA, v.Size, v.RedactedAt = "", nil, store.SHA{}, 0, b.now()
		}
		b.put("/f", "v1")
		redact(len(b.versions) - 1) // cannot be: it is the head; to be left alone
		b.passed()
		require.Equal(t, "v0", b.read("/f"))
		b.put("/f", "v2")
		b.passed()
		require.Equal(t, "v2", b.read("/f"))
		b.drop("/h")
		redact(len(b.versions) - 1)
		b.passed()
		require.Equal(t, map[string]string{"/f": "v2"}, b.tree(), "a deleted memory is deleted")
	})
}

func TestR5_AbsenceFromAListingIsNoDelete(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/f", "v0"); b.put("/g", "v0"); b.page = 1 }, func(b *bench) {
		time.Sleep(listEvery)
		// While it is listed, /g goes where the listing has been already.
		b.hook(nil, func(call string) error {
			if strings.HasPrefix(call, "list") && b.id("/g") != "" {
				b.move("/g", "/a")
			}
			return nil
		})
		require.True(t, listed(b.passed()))
		b.hook(nil, nil)
		require.Equal(t, map[string]string{"/f": "v0", "/a": "v0"}, b.tree())
		b.converged()
	})
}

func TestR5_WhatAListingLacksIsFoundByTheNewestVersions(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/f", "v0"); b.put("/g", "v0"); b.put("/h", "v0"); b.lacks = "/g"; b.drop("/h") }, func(b *bench) {
		require.Equal(t, map[string]string{"/f": "v0", "/g": "v0"}, b.tree())
		b.converged()
	})
}

func TestR5_WhatNoVersionToldIsFoundByTheListing(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/f", "v0"); b.put("/g", "v0") }, func(b *bench) {
		require.Len(t, b.tree(), 2) // both are here
		b.drop("/g")
		b.put("/f", "v1")
		b.versions = nil
		b.passed()
		require.Equal(t, map[string]string{"/f": "v0", "/g": "v0"}, b.tree())
		time.Sleep(listEvery)
		b.passed()
		require.Equal(t, map[string]string{"/f": "v1"}, b.tree())
		b.converged()
	})
}

func TestR5_AtAttachWhatIsGoneIsConfirmed(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/f", "v0"); b.put("/g", "v0") }, func(b *bench) {
		b.drop("/g")
		b.put("/f", "v1")
		b.put("/new", "n")
		b.called()
		b.restart()
		require.Contains(t, b.called(), "get mem_2")
		require.Equal(t, map[string]string{"/f": "v1", "/new": "n"}, b.tree())
		b.converged()
	})
}

func TestR1_AttachListsDirectoriesInParallel(t *testing.T) {
	withBench(t, func(b *bench) {
		for i := range 600 {
			b.put(fmt.Sprintf("/d%d/%d", i%6, i), "x")
		}
		b.put("/top", "x")
	}, func(b *bench) {
		going, most := 0, 0
		b.hook(func(string) error {
			b.mu.Lock()
			going++
			most = max(most, going)
			b.mu.Unlock()
			time.Sleep(100 * time.Millisecond)
			b.mu.Lock()
			going--
			b.mu.Unlock()
			return nil
		}, nil)
		began := time.Now()
		all, err := listParallel(b.Context(), b.fake)
		require.NoError(t, err)
		require.Len(t, all, 601)
		require.Equal(t, 200*time.Millisecond, time.Since(began))
		require.Equal(t, 6, most)
	})
}

func TestList_APageThatIsItsOwnNextOne(t *testing.T) {
	f := newFake()
	stuck := stuckPages{f}
	_, err := listAll(t.Context(), stuck)
	require.ErrorIs(t, err, store.ErrProtocol)
	l := &learner{reader: stuck, view: NewView(), now: time.Now, seen: map[string]time.Time{}}
	l.listed = time.Now()
	require.ErrorIs(t, l.learn(t.Context(), nil), store.ErrProtocol)
}

type stuckPages struct{ *fake }

func (s stuckPages) List(ctx context.Context, q store.ListQuery) (store.ListPage, error) {
	return store.ListPage{Next: "same"}, nil
}

func (s stuckPages) Versions(ctx context.Context, q store.VersionQuery) (store.VersionPage, error) {
	return store.VersionPage{Versions: []store.Version{{ID: fmt.Sprint(time.Now().UnixNano()), MemoryID: "m", Path: "/m"}}, Next: "same"}, nil
}

// A server can say what no store may hold: none of it hangs a pass, hides
// another memory or makes the view doubt itself.
func TestR12_IllegalPathsAreInNobodysWay(t *testing.T) {
	v := NewView()
	m := func(id, path string) store.Memory { return store.Memory{ID: id, Path: path, VersionID: id} }
	require.True(t, v.Put(m("a", "/a")))
	illegal := []string{"", "/", "rel", "tmp/rel", "./x", "../x", "//tmp/x", "/a//b", "/a/", "/./a", "/a/../b", "/a/\x00", "/" + strings.Repeat("x/", 30)}
	for i, p := range illegal {
		require.True(t, v.Put(m(fmt.Sprint("evil", i), p)), "%q", p)
	}
	require.Equal(t, len(illegal), v.Hidden())
	require.Empty(t, v.Below("/a"))
	for i := range illegal {
		v.Gone(fmt.Sprint("evil", i))
	}
	require.Zero(t, v.Hidden())
	id, found := v.At("/a")
	require.True(t, found)
	require.Equal(t, "a", id)
}

func TestView(t *testing.T) {
	v := NewView()
	m := func(id, path string) store.Memory { return store.Memory{ID: id, Path: path, VersionID: id + path} }
	require.True(t, v.Put(m("a", "/a"), m("b", "/d/b"), m("c", "/d/e/c")))
	require.True(t, v.Put(m("a", "/d/b"), m("b", "/a")), "a swap is one set")
	at, _ := v.At("/a")
	require.Equal(t, "b", at)
	require.ElementsMatch(t, []string{"a", "c"}, v.Below("/d"))
	require.Empty(t, v.Below("/d/e/c"))
	require.Equal(t, 3, v.Len())

	for _, unsound := range []store.Memory{m("x", "/a"), m("x", "/d"), m("x", "/a/x")} {
		w := NewView()
		w.Put(m("b", "/a"), m("c", "/d/e"))
		require.False(t, w.Put(unsound), unsound.Path)
	}
	v.Gone("c")
	require.Empty(t, v.Below("/d/e"))
	v.Put(m("h", "/a\u200b"))
	require.Equal(t, 1, v.Hidden())

	base := map[string]replica.Base{"a": replica.BaseOf(m("a", "/d/b")), "c": replica.BaseOf(m("c", "/d/e/c"))}
	pending := v.Pending(func(id string) (replica.Base, bool) { b, ok := base[id]; return b, ok })
	require.Len(t, pending, 2)
	require.Equal(t, "/a", pending["b"].Path)
	require.Nil(t, pending["c"])
	require.Contains(t, pending, "c")
	require.Len(t, v.pending, 2, "what is agreed is not looked at again")
}
