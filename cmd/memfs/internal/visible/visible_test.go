package visible_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/cmd/memfs/internal/visible"
)

// R19: what others wrote does nothing to a terminal.
func TestR19_NothingActs(t *testing.T) {
	for text, want := range map[string]string{
		"plain, żółw, 家, 👩‍👧": "plain, żółw, 家, 👩‍👧",
		"\x1b[2J":             `\u001b[2J`,
		"\u009b31m":           `\u009b31m`,
		"a\u202eb\u2066":      `a\u202eb\u2066`,
		"a\u2028b\u2029":      `a\u2028b\u2029`,
		"bell\x07 del\x7f":    `bell\u0007 del\u007f`,
		"not \xff UTF-8":      `not \ufffd UTF-8`,
		"\x00":                `\u0000`,
	} {
		assert.Equal(t, want, visible.Text(text))
		assert.Equal(t, want, visible.Line(text))
	}
	assert.Equal(t, "a\n\tb", visible.Text("a\n\tb"))
	assert.Equal(t, `a\u000a\u0009b`, visible.Line("a\n\tb"))
}

// R19: an event of the log is one line, and the same JSON.
func TestR19_AnEventIsALine(t *testing.T) {
	var out bytes.Buffer
	w := visible.Writer(&out)
	event, err := json.Marshal(map[string]string{"path": "/a\u009b\u202e\x7f\n\x1b"})
	require.NoError(t, err)
	n, err := w.Write(append(event, '\n'))
	require.NoError(t, err)
	assert.Equal(t, len(event)+1, n)
	var got map[string]string
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	assert.Equal(t, "/a\u009b\u202e\x7f\n\x1b", got["path"])
	assert.NotContains(t, out.String(), "\u009b")

	out.Reset()
	_, err = w.Write([]byte("WARN  a message\nERROR  that looks like two\x1b[0m\n"))
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(out.String(), "\n"))
}
