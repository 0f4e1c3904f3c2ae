package credential_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/cmd/memfs/internal/credential"
)

const name = "ANTHROPIC_API_KEY"

// scrub makes a test independent of the environment that it runs in.
func scrub(t *testing.T) {
	for _, n := range []string{name, name + "_FILE", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN_FILE", "CREDENTIALS_DIRECTORY"} {
		t.Setenv(n, "")
	}
}

func file(t *testing.T, path, text string) string {
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestLookup(t *testing.T) {
	scrub(t)
	value, err := credential.Lookup(name)
	require.NoError(t, err)
	assert.Empty(t, value)

	dir := t.TempDir()
	t.Setenv("CREDENTIALS_DIRECTORY", dir)
	value, err = credential.Lookup(name)
	require.NoError(t, err, "a credential that systemd was not told of")
	assert.Empty(t, value)

	for _, step := range []struct {
		want string
		set  func()
	}{
		{"from systemd", func() { file(t, filepath.Join(dir, name), "from systemd\n") }},
		{"from a file", func() { t.Setenv(name+"_FILE", file(t, filepath.Join(dir, "key"), "from a file\n")) }},
		{"from the environment", func() { t.Setenv(name, "from the environment") }},
	} {
		step.set()
		value, err := credential.Lookup(name)
		require.NoError(t, err)
		assert.Equal(t, step.want, value)
	}
}

func TestLookupNamesTheFileItCannotRead(t *testing.T) {
	scrub(t)
	missing := filepath.Join(t.TempDir(), "missing")
	t.Setenv(name+"_FILE", missing)
	_, err := credential.Lookup(name)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, name+"_FILE: open "+missing)
}

func TestAdopt(t *testing.T) {
	scrub(t)
	t.Setenv("ANTHROPIC_AUTH_TOKEN_FILE", file(t, filepath.Join(t.TempDir(), "token"), "a token\n"))
	require.NoError(t, credential.Adopt())
	assert.Equal(t, "a token", os.Getenv("ANTHROPIC_AUTH_TOKEN"))
	assert.Empty(t, os.Getenv(name))
}

func TestR19_StripTakesSecretsAway(t *testing.T) {
	kept := []string{"PATH=/bin", "ANTHROPIC_BASE_URL=http://x", "MEMFS_STATE_DIR=/s", "GITHUB_TOKEN=theirs", "EMPTY="}
	secrets := []string{
		"ANTHROPIC_API_KEY=1", "ANTHROPIC_AUTH_TOKEN=2", "ANTHROPIC_API_KEY_FILE=/3", "ANTHROPIC_ENVIRONMENT_KEY=4",
		"ANTHROPIC_WORK_SECRET=5", "CREDENTIALS_DIRECTORY=/6", "MEMFS_SERVE_KEY=7", "MEMFS_SERVE_KEY_FILE=/8",
	}
	assert.Equal(t, kept, credential.Strip(append(append([]string{}, kept...), secrets...)))
}
