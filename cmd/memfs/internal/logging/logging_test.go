package logging_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"memfs/cmd/memfs/internal/logging"
)

func TestJSON(t *testing.T) {
	var out bytes.Buffer
	log, err := logging.New(zapcore.AddSync(&out), "info", logging.JSON)
	require.NoError(t, err)
	log.Debug("not this")
	log.Warn("a pass failed", zap.String("store", "memstore_1"), zap.Duration("after", 1500*time.Millisecond))

	var line map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &line), "exactly one line")
	_, err = time.Parse(time.RFC3339, line["time"].(string))
	require.NoError(t, err)
	delete(line, "time")
	assert.Equal(t, map[string]any{"level": "warn", "message": "a pass failed", "store": "memstore_1", "after": "1.5s"}, line)
}

func TestText(t *testing.T) {
	var out bytes.Buffer
	log, err := logging.New(zapcore.AddSync(&out), "debug", logging.Text)
	require.NoError(t, err)
	log.Info("mounted", zap.String("path", "/mnt/memory/notes"))
	assert.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z  INFO  mounted  \{"path": "/mnt/memory/notes"\}\n$`, out.String())
}

func TestNewRefuses(t *testing.T) {
	_, err := logging.New(zapcore.AddSync(&bytes.Buffer{}), "loud", logging.Text)
	require.ErrorContains(t, err, "loud")
	_, err = logging.New(zapcore.AddSync(&bytes.Buffer{}), "info", "xml")
	require.ErrorContains(t, err, "xml")
}

func TestOpenAppendsAndRotates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memfs.log")
	write := func(text string) {
		f, err := logging.Open(path)
		require.NoError(t, err)
		_, err = f.WriteString(text)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	read := func(path string) string {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		return string(text)
	}
	write("one\n")
	write("two\n")
	assert.Equal(t, "one\ntwo\n", read(path))
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	require.NoError(t, os.Truncate(path, 9<<20))
	write("three\n")
	assert.Equal(t, "three\n", read(path))
	assert.Len(t, read(path+".1"), 9<<20)
}
