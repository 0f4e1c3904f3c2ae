package replica

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"memfs/store/replica/journal"
)

// Whatever became of the bytes, the next session has its mount, and a person can
// still find what they were.
func TestR16_AJournalThatIsNoneIsSetAside(t *testing.T) {
	for name, text := range map[string][]byte{"empty": {}, "zeros": make([]byte, 8192), "another file": []byte("once upon a time there was a text")} {
		t.Run(name, func(t *testing.T) {
			core, logged := observer.New(zap.WarnLevel)
			w := newWorld(t, func(o *Options) { o.Log = zap.New(core) })
			w.write("/a", "unsent")
			require.NoError(t, w.shut())
			path := filepath.Join(w.place.dir.Path(), journalName)
			require.NoError(t, os.WriteFile(path, text, 0o600))

			w.open()
			require.Len(t, logged.FilterField(zap.String("code", "journal_unreadable")).All(), 1)
			w.write("/b", "later")
			var aside Leftover
			for _, l := range leftovers(t, w.o.Dir) {
				if !l.Live {
					require.Empty(t, aside.ID)
					aside = l
				}
			}
			require.ErrorIs(t, aside.Fault, journal.ErrHeader)
			assert.False(t, aside.Created.IsZero())
			kept, err := os.ReadFile(filepath.Join(w.o.Dir, replicasName, aside.key, journalName))
			require.NoError(t, err)
			assert.Equal(t, text, kept)

			w.kill()
			assert.Equal(t, []string{"/b"}, w.Unsent().Edits)
			require.NoError(t, aside.Drop())
			require.Len(t, leftovers(t, w.o.Dir), 1)
			require.Len(t, logged.FilterField(zap.String("code", "journal_unreadable")).All(), 1, "once")
		})
	}
}
