package reconcile

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"memfs/store"
)

func TestR15_TheEndOutlastsABusyMoment(t *testing.T) {
	for name, busy := range map[string]func() error{
		"overloaded": func() error { return &store.UnavailableError{Status: 529} },
		"limited":    func() error { return &store.RateLimitedError{After: time.Second} },
		"cut off":    func() error { return errNoAnswer },
	} {
		t.Run(name, func(t *testing.T) {
			withBench(t, func(b *bench) { b.put("/f", "v0"); b.put("/gone", "text") }, func(b *bench) {
				b.write("/f", "v1")
				b.write("/new", "text")
				b.rm("/gone")
				since := time.Now()
				b.hook(func(string) error {
					if time.Since(since) < 3*time.Second {
						return busy()
					}
					return nil
				}, nil)
				report, err := b.rec.Final(b.Context())
				require.NoError(t, err)
				require.Empty(t, report.Unsent)
				require.Equal(t, map[string]string{"/f": "v1", "/new": "text"}, b.texts())
				require.Zero(t, b.warned("unsent"))
			})
		})
	}
	t.Run("outage", func(t *testing.T) {
		withBench(t, func(b *bench) { b.put("/f", "v0") }, func(b *bench) {
			b.write("/f", "v1")
			b.hook(func(string) error { return errNoAnswer }, nil)
			began := time.Now()
			report, err := b.rec.Final(b.Context())
			require.ErrorIs(t, err, store.ErrUnavailable)
			require.Equal(t, []string{"/f"}, report.Unsent)
			require.Less(t, time.Since(began), 10*time.Second)
			require.Equal(t, 1, b.warned("unsent"))
		})
	})
}
