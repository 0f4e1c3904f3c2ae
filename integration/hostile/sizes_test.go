//go:build linux

package hostile

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// R2: where the listed size is not that of the text with the listed hash,
// neither is shown: what the kernel was told and what a reader gets would
// differ, and an append would overwrite the text's middle.
func TestR2_AListedSizeThatLies(t *testing.T) {
	for name, size := range map[string]int{"shorter": 3, "longer": 1000, "much longer": 4_000_000} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.server.lie(also(func(store string) []object {
				return []object{memory(store, "odd", "/odd.md", object{"content_sha256": sum(honestText), "content_size_bytes": size})}
			}))
			p, mounted := h.mount()
			require.True(t, mounted, h.log())
			h.write(minePath, mineText)
			require.Eventually(t, func() bool { _, err := os.ReadFile(h.at(honestPath)); return err == nil }, time.Minute, time.Second)
			got, err := os.ReadFile(h.at("odd.md"))
			assert.Error(t, err, "%q", got)
			h.safe(p)
		})
	}
}
