package main_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/cmd/memfs/internal/exitcode"
)

func TestStoreImportAndExport(t *testing.T) {
	h := newHost(t).local()
	require.NoError(t, os.MkdirAll(h.path("in/sub"), 0o755))
	write(t, h.path("in/a.md"), "one\n")
	write(t, h.path("in/sub/b.md"), "two\n")
	write(t, h.path("in/old~"), "")

	h.fails(exitcode.Usage, "no embedded store at", "store", "import", "in", "notes")
	assert.Equal(t, "2 created, 0 updated, 0 the same, 1 local only, 0 differ, 0 failed\n", h.must("store", "import", "in", "notes", "--create"))
	assert.Equal(t, "0 created, 0 updated, 2 the same, 1 local only, 0 differ, 0 failed\n", h.must("store", "import", "in", "notes", "--create"))
	assert.Equal(t, "/a.md: would be created\n/sub/b.md: would be created\n2 created, 0 updated, 0 the same, 0 local only, 0 differ, 0 failed\n",
		h.must("store", "export", "notes", "out", "--dry-run"))
	assert.NoDirExists(t, h.path("out"))
	h.must("store", "export", "notes", "out")
	text, err := os.ReadFile(h.path("out/sub/b.md"))
	require.NoError(t, err)
	assert.Equal(t, "two\n", string(text))

	write(t, h.path("out/a.md"), "mine\n")
	r := h.run("store", "export", "notes", "out")
	assert.Equal(t, exitcode.Failed, r.code)
	assert.Equal(t, "0 created, 0 updated, 1 the same, 0 local only, 1 differ, 0 failed\n", r.stdout)
	assert.Equal(t, "/a.md: differs: the file has another text\nmemfs: 1 file was not copied: see above\n", r.stderr, "no bar where nobody looks")
	assert.JSONEq(t, `[{"path":"/a.md","outcome":"updated"},{"path":"/sub/b.md","outcome":"same"}]`,
		h.must("store", "import", "out", "notes", "--overwrite", "--json"))
	h.fails(exitcode.Usage, "missing is not a directory", "store", "import", "missing", "notes")
	h.fails(exitcode.Usage, "name the store and the directory", "store", "export", "notes")
}

func TestStoreExportShowsABarOnATerminal(t *testing.T) {
	h := newHost(t).local()
	require.NoError(t, os.Mkdir(h.path("in"), 0o755))
	for i := range 50 {
		write(t, h.path("in/"+strconv.Itoa(i)), strconv.Itoa(i))
	}
	h.must("store", "import", "in", "notes", "--create")
	code, said := h.atTerminal("", "store", "export", "notes", "out")
	assert.Equal(t, exitcode.OK, code)
	assert.Regexp(t, `\d+% .*/50`, said)
	assert.True(t, strings.HasSuffix(said, "50 created, 0 updated, 0 the same, 0 local only, 0 differ, 0 failed\n"), said)
}
