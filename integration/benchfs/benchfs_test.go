//go:build linux

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestARoundMeasuresEveryOperationAndTidiesUp(t *testing.T) {
	var places []*place
	for _, name := range []string{onMemfs, onExt4} {
		p := newPlace(name, filepath.Join(t.TempDir(), "files"))
		require.NoError(t, p.fill())
		require.NoError(t, p.put(p.large, p.largeText, createFlags))
		places = append(places, p)
	}
	r := newReport()
	f, err := round(t.Context(), places, 1)
	require.NoError(t, err)
	r.add(f)
	r.finish()
	require.Len(t, r.Lines, len(operations))
	for i, l := range r.Lines {
		assert.Equal(t, operations[i].name, l.Operation)
		assert.Positive(t, l.Memfs)
		assert.Positive(t, l.Ext4)
		assert.Positive(t, l.ToExt4)
		assert.Zero(t, l.ToJournaled)
	}
	for _, p := range places {
		found, err := filepath.Glob(filepath.Join(p.root, "*", "*"))
		require.NoError(t, err)
		assert.Len(t, found, usual.files)
	}
	var out bytes.Buffer
	r.print(&out)
	assert.Contains(t, out.String(), "GOMAXPROCS")
	assert.Contains(t, out.String(), "save by rename")
}

func TestMedians(t *testing.T) {
	assert.Zero(t, median(nil))
	assert.InDelta(t, 2, median([]float64{9, 1, 2}), 0)
	assert.InDelta(t, 2.5, median([]float64{9, 1, 2, 3}), 0)
	assert.InDelta(t, 2, ratio([]float64{2, 20, 40}, []float64{1, 10, 10}), 0, "of each round's own")
}

func TestTextsDiffer(t *testing.T) {
	a, b := usual.text(1), usual.text(2)
	assert.Len(t, a, usual.size)
	assert.NotEqual(t, a, b)
	assert.Equal(t, a, usual.text(1))
	assert.NotContains(t, string(a), "0", "grep looks for a word with it")
}

func TestUsage(t *testing.T) {
	u, err := usage(os.Getpid())
	require.NoError(t, err)
	assert.Positive(t, u.cpu)
	assert.Positive(t, u.resident)
	assert.Positive(t, u.threads)
	assert.NotEqual(t, "unknown", mountOptions(t.TempDir()))
}
