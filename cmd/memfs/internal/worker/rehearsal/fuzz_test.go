package rehearsal

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"memfs/store/local"
)

// FuzzScript reads any text as a session script.
func FuzzScript(f *testing.F) {
	f.Add("stores: [{name: notes, memories: {/a.md: text}}]\ncalls: [{bash: ls /mnt/memory/notes}]\nend: idle\n")
	f.Add("calls: [{tool: write, input: {file_path: /mnt/memory/notes/a, content: [1, {2: 3}]}}]\n")
	f.Add("a: &a [*a]\n")
	f.Add("calls: &c [{bash: x}]\nstores: *c\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Read(strings.NewReader(text))
		if err != nil {
			require.ErrorIs(t, err, ErrScript)
			require.Empty(t, s)
			return
		}
		for _, st := range s.Stores {
			require.NotEmpty(t, st.Name)
		}
		for _, c := range s.calls("/elsewhere") {
			require.NotEmpty(t, c.Name)
			for _, v := range c.Input {
				if path, is := v.(string); is {
					require.NotContains(t, path, local.DefaultMountRoot)
				}
			}
		}
	})
}
