package mounttest_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/integration/mounttest"
)

func TestMain(m *testing.M) { mounttest.Main(m) }

func TestLifeOfAMount(t *testing.T) {
	m := mounttest.Start(t, mounttest.Options{Files: map[string]string{"/d/a.md": "one"}})
	text, err := os.ReadFile(m.At("d", "a.md"))
	require.NoError(t, err)
	assert.Equal(t, "one", string(text))

	require.NoError(t, os.WriteFile(m.At("b.md"), []byte("two"), 0o644))
	assert.Equal(t, 1, m.Sync().Pushed)
	assert.Equal(t, map[string]string{"/d/a.md": "one", "/b.md": "two"}, m.Texts())
	m.Put("/d/a.md", "changed")
	m.Delete("/b.md")
	assert.Equal(t, 2, m.Sync().Pulled)
	assert.NoFileExists(t, m.At("b.md"))
	assert.Equal(t, 1, m.Status().Clean)

	require.NoError(t, os.WriteFile(m.At("c.md"), []byte("three"), 0o644))
	m.Kill()
	_, err = os.ReadFile(m.At("c.md"))
	require.Error(t, err)
	m.Restart()
	text, err = os.ReadFile(m.At("c.md"))
	require.NoError(t, err)
	assert.Equal(t, "three", string(text), "R16")

	assert.Empty(t, m.Stop().Unsent)
	assert.NoDirExists(t, m.Path)
	assert.Equal(t, map[string]string{"/d/a.md": "changed", "/c.md": "three"}, m.Texts())
}
