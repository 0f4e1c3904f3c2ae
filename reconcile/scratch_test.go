package reconcile

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What the store puts where local-only files stand takes their place, and their
// texts go where all losing texts go (R7, R17, R20).
func TestR7_TheStorePutsAFileWhereScratchStands(t *testing.T) {
	for name, c := range map[string]struct {
		scratch []string
		remote  string
	}{
		"at the file":                    {[]string{"/x~"}, "/x~"},
		"at its directory":               {[]string{"/d/x~", "/d/e/y~"}, "/d"},
		"at a directory of scratch":      {[]string{"/.git/config", "/.git/refs/main"}, "/.git"},
		"in a directory of scratch":      {[]string{"/.git/config", "/.git/other"}, "/.git/config"},
		"below the file":                 {[]string{"/x~"}, "/x~/y"},
		"below a file in a scratch tree": {[]string{"/.git/config"}, "/.git/config/x/y"},
	} {
		t.Run(name, func(t *testing.T) {
			withBench(t, nil, func(b *bench) {
				for _, p := range c.scratch {
					b.write(p, "mine at "+p)
				}
				b.sync()
				require.Empty(t, b.texts())
				b.put(c.remote, "theirs")
				b.sync()
				t.Log(b.tree(), b.losers(), b.logs.All())
				require.Equal(t, "theirs", b.tree()[c.remote])
				for _, p := range c.scratch {
					if text := "mine at " + p; b.tree()[p] != text {
						require.Contains(t, b.losers(), text)
					}
				}
			})
		})
	}
}
