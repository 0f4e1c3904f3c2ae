package reconcile

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"memfs/store"
)

// Whoever reads a content that is not here yet does not see that the store was
// busy for a moment, and in an outage not every file takes its time.
func TestR14_AReadOutlastsABusyMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		id := f.put("/f", "text")
		m, fetch := f.memories[id], Fetcher(f)
		calls, fails := 0, 2
		f.hook(func(string) error {
			if calls++; calls <= fails {
				return &store.UnavailableError{Status: 529}
			}
			return nil
		}, nil)
		text, err := fetch(t.Context(), id, m.VersionID, m.SHA)
		require.NoError(t, err)
		require.Equal(t, "text", string(text))

		calls, fails = 0, 1000
		began := time.Now()
		_, err = fetch(t.Context(), id, m.VersionID, m.SHA)
		require.ErrorIs(t, err, store.ErrUnavailable)
		require.Less(t, time.Since(began), 10*time.Second)
		began = time.Now()
		for range 100 {
			_, err = fetch(t.Context(), id, m.VersionID, m.SHA)
			require.ErrorIs(t, err, store.ErrUnavailable)
		}
		require.Zero(t, time.Since(began), "the others wait no more")

		calls, fails = 0, 0
		_, err = fetch(t.Context(), id, m.VersionID, m.SHA)
		require.NoError(t, err)
		calls, fails = 0, 1
		_, err = fetch(t.Context(), id, m.VersionID, m.SHA)
		require.NoError(t, err, "after the outage as before it")
	})
}
