package reconcile

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"memfs/store"
)

func TestPass_BothWays(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/notes/a", "first a"); b.put("/b", "first b") }, func(b *bench) {
		require.Equal(t, map[string]string{"/notes/a": "first a", "/b": "first b"}, b.tree())
		id := b.id("/b")
		b.write("/b", "second b")
		b.write("/new/deep/c", "c")
		b.rm("/notes/a")
		report := b.sync()
		require.Equal(t, 2, report.Pushed)
		require.Equal(t, 1, report.Deleted)
		require.Equal(t, map[string]string{"/b": "second b", "/new/deep/c": "c"}, b.texts())
		require.Equal(t, id, b.id("/b"))

		b.put("/b", "third b")
		b.drop("/new/deep/c")
		b.put("/d", "d")
		report, err := b.timed()
		require.NoError(t, err)
		require.Equal(t, 3, report.Pulled)
		require.Equal(t, map[string]string{"/b": "third b", "/d": "d"}, b.tree())
		b.converged()
	})
}

func TestR5_AnIdlePassIsOneRequest(t *testing.T) {
	withBench(t, func(b *bench) {
		for i := range 300 {
			b.put(fmt.Sprintf("/d%d/%d", i%10, i), "text")
		}
	}, func(b *bench) {
		_, err := b.timed()
		require.NoError(t, err)
		b.called()
		report, err := b.timed()
		require.NoError(t, err)
		require.Equal(t, 1, report.Requests, "%v", b.called())
		b.write("/d1/1", "edited")
		report, err = b.timed()
		require.NoError(t, err)
		require.Equal(t, 2, report.Requests, "%v", b.called())
		report, err = b.timed()
		require.NoError(t, err)
		require.Equal(t, 1, report.Requests, "our own version is no news: %v", b.called())
		b.put("/d2/2", "theirs")
		report, err = b.timed()
		require.NoError(t, err)
		require.LessOrEqual(t, report.Requests, 2, "%v", b.called())
		require.Equal(t, "theirs", b.read("/d2/2"))
	})
}

func TestR6_SaveByRenameThroughTheReplica(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/f", "v0") }, func(b *bench) {
		id := b.id("/f")
		for i := range 3 {
			b.write("/f.tmp", fmt.Sprint("v", i+1))
			b.mv("/f.tmp", "/f")
			b.sync()
			require.Equal(t, id, b.id("/f"))
		}
		require.Equal(t, map[string]string{"/f": "v3"}, b.texts())
		require.Empty(t, b.losers())
		b.converged()
	})
}

func TestR6_RenamesThroughTheReplica(t *testing.T) {
	withBench(t, func(b *bench) {
		for _, n := range []string{"a", "b", "c1", "c2", "c3", "x"} {
			b.put("/"+n, "text "+n)
		}
	}, func(b *bench) {
		x := b.id("/x")
		b.mv("/a", "/t")
		b.mv("/b", "/a")
		b.mv("/t", "/b")
		b.mv("/c3", "/c4")
		b.mv("/c2", "/c3")
		b.mv("/c1", "/c2")
		b.mv("/x", "/y")
		b.write("/x/in", "below")
		b.sync()
		b.converged()
		require.Equal(t, x, b.id("/y"))
		require.Equal(t, "text a", b.texts()["/b"])
		require.Equal(t, "text c3", b.texts()["/c4"])
	})
}

func TestR7_ConflictKeepsTheLosingTextAndSaysWhere(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/f", "v0") }, func(b *bench) {
		b.read("/f")
		b.write("/f", "mine")
		b.put("/f", "theirs")
		report := b.sync()
		require.Equal(t, 1, report.Conflicts)
		require.Equal(t, "theirs", b.read("/f"))
		require.Equal(t, []string{"mine"}, b.losers())
		entries, err := b.rep.Conflicts().List()
		require.NoError(t, err)
		lines := b.logs.FilterMessageSnippet("changed both locally and remotely").All()
		require.Len(t, lines, 1)
		fields := lines[0].ContextMap()
		require.Equal(t, "memstore_1", fields["store"])
		require.Equal(t, "/f", fields["path"])
		require.Equal(t, entries[0].ID, fields["kept"])
		require.Contains(t, fields, "local_sha256")
		require.Contains(t, fields, "remote_sha256")
		b.converged()
	})
}

func TestR7_WrittenThroughAReplacedFileIsKept(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/f", "v0") }, func(b *bench) {
		attr, err := b.rep.Lookup(1, "f")
		require.NoError(t, err)
		b.put("/f", "theirs")
		_, err = b.timed()
		require.NoError(t, err)
		_, err = b.rep.Write(b.Context(), attr.Ino, []byte("late"), 0)
		require.NoError(t, err)
		b.sync()
		require.Equal(t, []string{"late"}, b.losers())
		require.Equal(t, "theirs", b.read("/f"))
		b.rep.Forget(attr.Ino, 1)
		b.converged()
	})
}

// race runs f once, between the pass's learning and its first changing request.
func (b *bench) race(f func()) {
	var done atomic.Bool
	b.hook(func(call string) error {
		if len(changes([]string{call})) == 1 && done.CompareAndSwap(false, true) {
			f()
		}
		return nil
	}, nil)
}

func TestRaces(t *testing.T) {
	for _, c := range []struct {
		name   string
		local  func(b *bench)
		remote func(b *bench)
		want   map[string]string
		losers []string
	}{
		{"edited before our update", func(b *bench) { b.write("/f", "mine") }, func(b *bench) { b.put("/f", "theirs") },
			map[string]string{"/f": "theirs"}, []string{"mine"}},
		{"the same edit before our update", func(b *bench) { b.write("/f", "mine") }, func(b *bench) { b.put("/f", "mine") },
			map[string]string{"/f": "mine"}, nil},
		{"deleted before our update", func(b *bench) { b.write("/f", "mine") }, func(b *bench) { b.drop("/f") },
			map[string]string{"/f": "mine"}, nil},
		{"renamed before our update", func(b *bench) { b.write("/f", "mine") }, func(b *bench) { b.move("/f", "/g") },
			map[string]string{"/g": "mine"}, nil},
		{"edited before our delete", func(b *bench) { b.rm("/f") }, func(b *bench) { b.put("/f", "theirs") },
			map[string]string{"/f": "theirs"}, nil},
		{"deleted before our delete", func(b *bench) { b.rm("/f") }, func(b *bench) { b.drop("/f") },
			map[string]string{}, nil},
		{"created before our create", func(b *bench) { b.write("/n", "mine") }, func(b *bench) { b.put("/n", "theirs") },
			map[string]string{"/f": "v0", "/n": "theirs"}, []string{"mine"}},
		{"the same created before our create", func(b *bench) { b.write("/n", "mine") }, func(b *bench) { b.put("/n", "mine") },
			map[string]string{"/f": "v0", "/n": "mine"}, nil},
		{"a directory before our create", func(b *bench) { b.write("/n", "mine") }, func(b *bench) { b.put("/n/x", "theirs") },
			map[string]string{"/f": "v0", "/n/x": "theirs"}, []string{"mine"}},
		{"a file where our create has a directory", func(b *bench) { b.write("/n/x", "mine") }, func(b *bench) { b.put("/n", "theirs") },
			map[string]string{"/f": "v0", "/n": "theirs"}, []string{"mine"}},
		{"the target taken before our rename", func(b *bench) { b.mv("/f", "/g"); b.write("/g", "mine") },
			func(b *bench) { b.put("/g", "theirs") }, map[string]string{"/f": "mine", "/g": "theirs"}, nil},
		{"edited before our rename", func(b *bench) { b.mv("/f", "/g") }, func(b *bench) { b.put("/f", "theirs") },
			map[string]string{"/g": "theirs"}, nil},
		{"deleted before our rename", func(b *bench) { b.mv("/f", "/g") }, func(b *bench) { b.drop("/f") },
			map[string]string{"/g": "v0"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			withBench(t, func(b *bench) { b.put("/f", "v0") }, func(b *bench) {
				c.local(b)
				b.race(func() { c.remote(b) })
				require.Empty(t, b.sync().Unsent)
				b.hook(nil, nil)
				require.Equal(t, c.want, b.texts())
				require.Equal(t, c.losers, b.losers())
				b.converged()
			})
		})
	}
}

func TestLostAnswers(t *testing.T) {
	for _, landed := range []bool{true, false} {
		for _, crash := range []bool{false, true} {
			t.Run(fmt.Sprintf("landed %v, crash %v", landed, crash), func(t *testing.T) {
				withBench(t, func(b *bench) { b.put("/up", "v0"); b.put("/gone", "v0"); b.put("/moved", "v0") }, func(b *bench) {
					up := b.id("/up")
					b.write("/up", "v1")
					b.write("/new", "v1")
					b.rm("/gone")
					b.mv("/moved", "/elsewhere")
					lose := func(call string) error {
						if len(changes([]string{call})) == 1 {
							return errNoAnswer
						}
						return nil
					}
					if landed {
						b.hook(nil, lose)
					} else {
						b.hook(lose, nil)
					}
					report, err := b.rec.Sync(b.Context(), false)
					require.ErrorIs(t, err, store.ErrUnavailable)
					require.Equal(t, []string{"/elsewhere", "/gone", "/new", "/up"}, report.Unsent)
					b.hook(nil, nil)
					b.write("/up", "v2")
					b.write("/new", "v2")
					if crash {
						b.restart()
					}
					versions := len(b.versions)
					b.sync()
					require.Equal(t, map[string]string{"/up": "v2", "/new": "v2", "/elsewhere": "v0"}, b.texts())
					require.Equal(t, up, b.id("/up"))
					require.Empty(t, b.losers(), "our own text is no conflict")
					if landed {
						require.Len(t, b.versions, versions+2, "no change makes two versions")
					}
					b.converged()
				})
			})
		}
	}
}

func TestR4_ASlowRequestHoldsNobodyBack(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/slow", "v0"); b.put("/f", "v0") }, func(b *bench) {
		slow, release := b.id("/slow"), make(chan struct{})
		b.hook(func(call string) error {
			if call == "update "+slow {
				<-release
			}
			return nil
		}, nil)
		b.write("/slow", "v1")
		b.write("/f", "v1")
		time.Sleep(3 * time.Second)
		began := time.Now()
		report, err := b.rec.Pass(b.Context(), PassOptions{})
		require.NoError(t, err)
		require.Equal(t, b.rec.o.Interval, time.Since(began), "a timed pass waits for it no longer than an interval")
		require.Equal(t, []string{"/slow"}, report.Unsent)
		require.Equal(t, "v1", b.texts()["/f"])

		b.write("/slow", "v2")
		b.write("/f", "v2")
		b.called()
		_, err = b.rec.Pass(b.Context(), PassOptions{})
		require.NoError(t, err)
		time.Sleep(3 * time.Second)
		_, err = b.rec.Pass(b.Context(), PassOptions{})
		require.NoError(t, err)
		require.Equal(t, "v2", b.texts()["/f"])
		require.Equal(t, []string{"update " + b.id("/f")}, changes(b.called()), "one request at a time for a memory")
		close(release)
		b.sync()
		require.Equal(t, "v2", b.texts()["/slow"])
		b.converged()
	})
}

func TestR4_AtMostThirtyTwoAtOnce(t *testing.T) {
	withBench(t, nil, func(b *bench) {
		going, most := 0, 0
		b.hook(func(call string) error {
			if strings.HasPrefix(call, "create") {
				b.mu.Lock()
				going++
				most = max(most, going)
				b.mu.Unlock()
				time.Sleep(time.Second)
				b.mu.Lock()
				going--
				b.mu.Unlock()
			}
			return nil
		}, nil)
		for i := range 100 {
			b.write(fmt.Sprintf("/%03d", i), "text")
		}
		began := time.Now()
		b.sync()
		require.Equal(t, maxSends, most)
		require.Equal(t, 4*time.Second, time.Since(began))
	})
}

func TestR10_AReaderIsNeverWrittenTo(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/a", "a"); b.ro = true }, func(b *bench) {
		b.write("/a", "mine")
		b.write("/new", "new")
		b.sync()
		b.put("/a", "theirs")
		b.sync()
		require.Empty(t, changes(b.called()))
		require.Equal(t, map[string]string{"/a": "theirs", "/new": "new"}, b.tree())
		require.Equal(t, []string{"mine"}, b.losers())
	})
	var reader store.Reader = struct{ store.Reader }{newFake()}
	withBench(t, nil, func(b *bench) { require.Nil(t, New(b.rep, reader, Options{}).writes) })
}

func TestR13_WithoutMarkerNothingHappens(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/a", "a"); b.put("/b", "b") }, func(b *bench) {
		b.rm("/" + store.MarkerName)
		b.rm("/a")
		b.write("/new", "new")
		b.put("/b", "theirs")
		for range 3 {
			require.True(t, b.sync().MarkerBad)
		}
		require.Empty(t, changes(b.called()))
		require.Equal(t, "b", b.read("/b"))
		require.Equal(t, 1, b.warned("marker"))
		b.write("/"+store.MarkerName, string(store.Marker("memstore_1")))
		b.sync()
		b.converged()
		require.Equal(t, "theirs", b.read("/b"))
	})
}

func TestSync_ContentThatChangesWhileItIsPulled(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/f", "v0") }, func(b *bench) {
		b.read("/f")
		b.put("/f", "v1")
		b.hook(once("get", nil), nil)
		raced := false
		b.hook(func(call string) error {
			if strings.HasPrefix(call, "get") && !raced {
				raced = true
				b.put("/f", "v2")
			}
			return nil
		}, nil)
		b.sync()
		require.Equal(t, "v2", b.read("/f"))
		b.converged()
	})
}

func TestSync_AFailedFetchLeavesTheFile(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/f", "v0") }, func(b *bench) {
		b.read("/f")
		b.put("/f", "v1")
		b.hook(func(call string) error {
			if strings.HasPrefix(call, "get") {
				return errNoAnswer
			}
			return nil
		}, nil)
		_, err := b.rec.Sync(b.Context(), false)
		require.ErrorIs(t, err, store.ErrUnavailable)
		require.Equal(t, "v0", b.read("/f"))
		require.Equal(t, 1, b.warned("fetch_failed"))
		b.hook(nil, nil)
		b.sync()
		require.Equal(t, "v1", b.read("/f"))
		b.converged()
	})
}

func TestR15_FinalPassIsBounded(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/stuck", "v0") }, func(b *bench) {
		b.write("/stuck", "v1")
		b.write("/fine", "v1")
		ctx, cancel := context.WithTimeout(b.Context(), 10*time.Second)
		defer cancel()
		b.hook(func(call string) error {
			if strings.HasPrefix(call, "update") {
				<-ctx.Done()
				return &store.UnavailableError{Cause: ctx.Err()}
			}
			return nil
		}, nil)
		report, err := b.rec.Final(ctx)
		require.Error(t, err)
		require.Equal(t, []string{"/stuck"}, report.Unsent)
		require.Equal(t, "v1", b.texts()["/fine"])
		require.Equal(t, 1, b.warned("final_cut_off"))
		require.Zero(t, b.warned("send_failed"))
		b.hook(nil, nil)
		b.restart()
		b.sync()
		b.converged()
	})
}

func TestR5_ContentsOfManyChangesComeInPages(t *testing.T) {
	withBench(t, func(b *bench) {
		for i := range 60 {
			b.put(fmt.Sprintf("/%d", i), "v0")
		}
	}, func(b *bench) {
		b.tree() // all are here, so all are to be here afterwards
		time.Sleep(time.Hour)
		for i := range 50 {
			b.put(fmt.Sprintf("/%d", i), fmt.Sprint("v", i))
		}
		b.passed() // a full listing is due as well
		calls := b.passed()
		require.Len(t, calls, 1)
		for i := range 50 {
			b.put(fmt.Sprintf("/%d", i), fmt.Sprint("w", i))
		}
		calls = b.passed()
		require.LessOrEqual(t, len(calls), 1+3, "%v", calls)
		b.hook(func(string) error { return errNoAnswer }, nil)
		require.Equal(t, b.texts(), b.tree())
	})
}
