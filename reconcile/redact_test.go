package reconcile

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"memfs/store"
	"memfs/store/claude"
	"memfs/store/local"
	"memfs/store/replica"
)

// listingPass is the pass that comes after the listing's time.
func (b *bench) listingPass() {
	b.Helper()
	time.Sleep(listEvery)
	_, err := b.rec.Pass(b.Context(), PassOptions{})
	require.NoError(b, err)
}

// asked counts the requests for the versions of one memory.
func asked(calls []string) (n int) {
	for _, c := range calls {
		if strings.HasPrefix(c, "history ") {
			n++
		}
	}
	return n
}

func (b *bench) here(text string) bool {
	sha := store.Hash([]byte(text))
	return b.rep.Here([]store.SHA{sha})[sha]
}

func TestR19_ARedactedLoserIsPurged(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/f", "first") }, func(b *bench) {
		b.write("/f", "secret")
		b.put("/f", "theirs")
		b.sync()
		require.Equal(t, []string{"secret"}, b.losers())
		b.put("/f", "secret") // the losing text is written forward, and replaced
		b.put("/f", "last")
		b.listingPass()
		require.Equal(t, []string{"secret"}, b.losers())

		b.restart() // what version held the text stands with the text
		b.redact("secret")
		b.listingPass()
		require.Empty(t, b.losers())
		require.Equal(t, 1, b.warned("redacted"))

		b.write("/f", "secret")
		report := b.sync()
		require.Equal(t, 1, report.Refused)
		require.Equal(t, "last", b.texts()["/f"], "never sent again")
		require.Equal(t, "secret", b.read("/f"))
		f, err := b.lookup("/f")
		require.NoError(t, err)
		shown, err := b.rep.Inspect(f.Ino)
		require.NoError(t, err)
		require.Equal(t, replica.Refused, shown.State)
		require.Equal(t, errRedacted.Error(), shown.Reason)

		b.restart()
		require.Equal(t, 1, b.sync().Refused, "also by the next process")
		b.write("/f", "harmless")
		b.sync()
		b.converged()
	})
}

func TestR19_ARedactedTextThatIsInUseIsPurged(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/f", "secret") }, func(b *bench) {
		require.Equal(t, "secret", b.read("/f"))
		open, err := b.rep.Lookup(replica.Root, "f") // a program has it open
		require.NoError(t, err)
		b.put("/f", "next")
		b.sync()
		b.redact("secret")
		require.True(t, b.here("secret"))
		b.listingPass()
		_, err = b.rep.Read(b.Context(), open.Ino, make([]byte, 10), 0)
		require.Error(t, err)
		b.rep.Forget(open.Ino, 1)
		require.False(t, b.here("secret"))
		require.Equal(t, 1, b.warned("redacted"))
		b.converged()
	})
}

func TestR19_WhatWasReplacedLeavesTheHost(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/f", "old") }, func(b *bench) {
		require.Equal(t, "old", b.read("/f"))
		b.put("/f", "new")
		b.sync()
		require.True(t, b.here("old"))
		b.listingPass()
		require.False(t, b.here("old"))
		b.called()
		b.listingPass()
		require.Zero(t, asked(b.called()), "nothing is kept that could have been redacted")
	})
}

func TestR19_WhatTheStoreStillHasIsNotPurged(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/f", "first"); b.put("/g", "first") }, func(b *bench) {
		for _, text := range []string{"", "common"} {
			b.write("/f", text)
			b.put("/f", "theirs over "+text)
			b.sync()
			b.put("/f", text)
			b.put("/f", "last after "+text)
		}
		b.put("/g", "common")
		b.listingPass()
		require.ElementsMatch(t, []string{"", "common"}, b.losers())
		b.redact("")
		b.redact("common")
		b.listingPass()
		require.ElementsMatch(t, []string{"", "common"}, b.losers(), "an empty text hides nothing, the other stands in /g")
		b.write("/new", "common")
		b.sync()
		require.Equal(t, "common", b.texts()["/new"])

		b.rm("/new")
		b.put("/g", "not common any more")
		b.sync()
		b.listingPass()
		require.Equal(t, []string{""}, b.losers())
	})
}

func TestR19_ManyHistoriesTakeTurns(t *testing.T) {
	const many = maxHistories + 50
	withBench(t, func(b *bench) {
		for i := range many {
			b.put(fmt.Sprintf("/%d", i), "first")
		}
	}, func(b *bench) {
		for i := range many {
			b.write(fmt.Sprintf("/%d", i), fmt.Sprint("mine ", i))
			b.put(fmt.Sprintf("/%d", i), fmt.Sprint("theirs ", i))
		}
		b.sync()
		require.Len(t, b.losers(), many)
		seen := map[string]bool{}
		for range 2 {
			b.called()
			b.listingPass()
			calls := b.called()
			require.Equal(t, maxHistories, asked(calls))
			for _, c := range calls {
				if strings.HasPrefix(c, "history ") {
					seen[c] = true
				}
			}
		}
		require.Len(t, seen, many)
	})
}

func TestR19_VersionsThatAreNotForUsAreLookedAtNoMore(t *testing.T) {
	withBench(t, func(b *bench) { b.put("/f", "first") }, func(b *bench) {
		b.write("/f", "mine")
		b.put("/f", "theirs")
		b.sync()
		b.hook(func(call string) error {
			if strings.HasPrefix(call, "history") {
				return store.ErrUnauthorized
			}
			return nil
		}, nil)
		b.called()
		b.listingPass()
		b.passed()
		require.Equal(t, []string{"mine"}, b.losers())
		b.hook(once("history", errNoAnswer), nil)
		b.listingPass()
		require.Equal(t, 1, asked(b.passed()), "no answer is no answer: asked again")
	})
}

// TestR19_RedactionOverTheAPI purges what the embedded store redacts.
func TestR19_RedactionOverTheAPI(t *testing.T) {
	defer goleak.VerifyNone(t)
	server, err := local.Open(filepath.Join(t.TempDir(), "store"), local.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close()) }()
	web := httptest.NewServer(server.Handler())
	defer web.Close()
	api, err := claude.New(claude.Config{BaseURL: web.URL, Credential: "key", HTTPClient: web.Client()})
	require.NoError(t, err)
	info, err := api.CreateStore(t.Context(), "notes", "")
	require.NoError(t, err)

	one, two := apiHost(t, api, info, "one"), apiHost(t, api, info, "two")
	one.write("/f", "first")
	one.sync()
	two.sync()
	two.write("/f", "secret") // loses there
	one.write("/f", "mine")
	one.sync()
	two.sync()
	require.Equal(t, []string{"secret"}, two.losers())
	one.write("/f", "secret") // and comes into the store all the same
	one.sync()
	one.write("/f", "last")
	one.sync()
	two.rec.learner.distrust()
	two.sync()

	page, err := api.Reader(info.ID).Versions(t.Context(), store.VersionQuery{})
	require.NoError(t, err)
	for _, v := range page.Versions {
		if v.SHA == store.Hash([]byte("secret")) {
			redact(t, web, info.ID, v.ID)
		}
	}
	two.rec.learner.distrust()
	two.sync()
	require.Empty(t, two.losers())
	require.False(t, two.here("secret"))
	one.rec.learner.distrust()
	one.sync()
	require.False(t, one.here("secret"))
	two.write("/f", "secret")
	require.Equal(t, 1, two.sync().Refused)
}

func redact(t *testing.T, web *httptest.Server, storeID, version string) {
	t.Helper()
	url := fmt.Sprintf("%s/v1/memory_stores/%s/memory_versions/%s/redact", web.URL, storeID, version)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(nil))
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer key")
	request.Header.Set("anthropic-beta", "agent-memory-2026-07-22")
	request.Header.Set("anthropic-version", "2023-06-01")
	answer, err := web.Client().Do(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
}
