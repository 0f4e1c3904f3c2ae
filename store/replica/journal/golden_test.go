package journal

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write new golden files of the present format version (never over old ones)")

// golden is what a golden file must replay to, for ever.
type golden struct {
	Header  Header
	Texts   []string
	Damaged bool
	Good    int64
}

// goldenFiles says how the files of version 1 were made.
var goldenFiles = map[string]struct {
	header Header
	texts  []string
	tail   func(content []byte) []byte
}{
	"empty":   {header: Header{Store: "memstore_01", Created: header.Created}},
	"records": {header: header, texts: append(numbered(20), "\x00", "é ü\n", strings.Repeat("long ", 2000))},
	"torn": {header: header, texts: []string{"first", "second", "cut off"},
		tail: func(content []byte) []byte { copy(content[len(content)-100-3:], "\x00\x00\x00"); return content }},
	"cut": {header: header, texts: []string{"first", "second", "cut off"},
		tail: func(content []byte) []byte { return content[:len(content)-100-5] }},
}

func TestR16_GoldenFilesOfVersion1Replay(t *testing.T) {
	for file, from := range goldenFiles {
		t.Run(file, func(t *testing.T) {
			path := filepath.Join("testdata", "v1-"+file)
			if *update {
				writeGolden(t, path, from.header, from.texts, from.tail)
			}
			content, err := os.ReadFile(path + ".journal")
			require.NoError(t, err)
			text, err := os.ReadFile(path + ".json")
			require.NoError(t, err)
			var want golden
			require.NoError(t, json.Unmarshal(text, &want))

			got, r, err := readBytes(content)
			require.NoError(t, err)
			assert.Equal(t, want, golden{Header: r.Header, Texts: got, Damaged: r.Damaged, Good: r.Good})
		})
	}
	files, err := filepath.Glob("testdata/v1-*.journal")
	require.NoError(t, err)
	assert.Len(t, files, len(goldenFiles), "every golden file is replayed")
}

// writeGolden keeps 100 of the zeros at the end.
func writeGolden(t *testing.T, path string, h Header, texts []string, tail func([]byte) []byte) {
	require.NoFileExists(t, path+".journal", "golden files are for ever")
	dir := openDir(t, filepath.Join(tempDir(t), "state"), nil)
	j, err := Create(dir, name, h, payloads(texts...), Options{})
	require.NoError(t, err)
	end := j.Size()
	require.NoError(t, j.Close())
	content, err := dir.ReadFile("test", name, 1<<20)
	require.NoError(t, err)
	content = content[:end+100]
	if tail != nil {
		content = tail(content)
	}
	got, r, err := readBytes(content)
	require.NoError(t, err)
	text, err := json.MarshalIndent(golden{Header: r.Header, Texts: got, Damaged: r.Damaged, Good: r.Good}, "", "  ")
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll("testdata", 0o755))
	require.NoError(t, os.WriteFile(path+".journal", content, 0o644))
	require.NoError(t, os.WriteFile(path+".json", append(bytes.TrimSpace(text), '\n'), 0o644))
}
