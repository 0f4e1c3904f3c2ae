//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMain is also the processes that a run starts.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && children[os.Args[1]] != nil {
		exit(children[os.Args[1]]())
	}
	os.Exit(m.Run())
}

// Runs that are small: whoever changes what they measure shall hear of it
// before somebody measures.
func TestARunMeasuresAndTidiesUp(t *testing.T) {
	if _, err := os.Stat("/dev/fuse"); err != nil || os.Geteuid() != 0 {
		t.Skip("this host cannot mount for anybody")
	}
	dir := t.TempDir()
	c := config{dir: dir, memfs: filepath.Join(t.TempDir(), "memfs"), scale: 25, rounds: 1, starts: 1, passes: 1, idle: time.Second}
	built, err := exec.Command("go", "build", "-o", c.memfs, "memfs/cmd/memfs").CombinedOutput()
	require.NoError(t, err, string(built))
	c.only = "rename,many,worker,idle,memory"
	rep := newReport()
	require.NoError(t, run(t.Context(), c, rep))
	rep.finish()
	for _, want := range []struct{ group, name, unit string }{
		{renameGroup, rowRename, requests}, {"worker, " + sessionGroup(deep, near), rowAnswered, seconds},
		{idleGroup, rowResident, megabytes}, {memoryGroup, rowSettled, megabytes},
	} {
		x := rep.row(want.group, want.name, want.unit)
		if assert.NotNil(t, x, want) {
			assert.Positive(t, x.Peers[ours].Median, want)
		}
	}
	var out bytes.Buffer
	rep.print(&out)
	assert.Contains(t, out.String(), rowAnswered)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
	path := filepath.Join(dir, "result.json")
	require.NoError(t, rep.write(path))
	written, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.True(t, json.Valid(written))
}

func TestEveryShapeHasATemplateOfItsOwn(t *testing.T) {
	b := &bench{config: config{scale: 100}, top: t.TempDir(), templates: make(map[templateKey]template)}
	for _, s := range []shape{deep, big, usual} { // they say the same of themselves
		got, err := b.template(t.Context(), b.scaled(s), 1)
		require.NoError(t, err)
		assert.Equal(t, b.scaled(s), got.shape)
	}
	assert.Len(t, b.templates, 3)
}

func TestNoPartHasAnUnknownName(t *testing.T) {
	err := run(t.Context(), config{dir: t.TempDir(), only: "file", scale: 1, rounds: 1, starts: 1, passes: 1}, newReport())
	assert.ErrorContains(t, err, `"file"`)
}

func TestARoundMeasuresEveryOperationAndTidiesUp(t *testing.T) {
	var places []*place
	for _, name := range []string{ours, plain} {
		p := newPlace(name, filepath.Join(t.TempDir(), "files"))
		require.NoError(t, p.fill())
		require.NoError(t, p.put(p.large, p.largeText, createFlags))
		places = append(places, p)
	}
	r := newReport()
	f, err := round(t.Context(), places, 1)
	require.NoError(t, err)
	r.addFigures(f)
	r.finish()
	require.Len(t, r.Rows, len(operations))
	for i, x := range r.Rows {
		assert.Equal(t, operations[i].name, x.Name)
		assert.Positive(t, x.Peers[ours].Median)
		assert.Positive(t, x.Peers[plain].Times)
		assert.NotContains(t, x.Peers, journaled)
	}
	assert.NotEmpty(t, r.Targets)
	for _, p := range places {
		found, err := filepath.Glob(filepath.Join(p.root, "*", "*"))
		require.NoError(t, err)
		assert.Len(t, found, usual.count)
	}
	var out bytes.Buffer
	r.print(&out)
	assert.Contains(t, out.String(), "save by rename")
}

func TestRatios(t *testing.T) {
	assert.Zero(t, median(nil))
	assert.InDelta(t, 2, median([]float64{9, 1, 2}), 0)
	assert.InDelta(t, 2.5, median([]float64{9, 1, 2, 3}), 0)
	assert.InDelta(t, 2, times([]float64{2, 20, 40}, []float64{1, 10, 10}), 0, "of each round's own")
	assert.InDelta(t, 3, times([]float64{6}, []float64{1, 2, 3}), 0, "of the medians, where the rounds differ")
	assert.Zero(t, times([]float64{6}, nil))
}

func TestTargetsAreJudgedBothWays(t *testing.T) {
	r := newReport()
	for peer, value := range map[string]float64{ours: 2, official: 8} {
		r.add(sessionGroup(flat, near), rowReady, seconds, peer, value)
	}
	r.add(idleGroup, rowResident, megabytes, ours, 19)
	r.finish()
	require.Len(t, r.Targets, 2)
	assert.False(t, r.Targets[0].Met, "4 times sooner is not 4.5 times")
	assert.True(t, r.Targets[1].Met, "19 MB are at most 20")
	var out bytes.Buffer
	r.print(&out)
	assert.Equal(t, 1, strings.Count(out.String(), "MISSED"))
}

func TestTextsDiffer(t *testing.T) {
	a, b := usual.text(1, 0), usual.text(2, 0)
	assert.Len(t, a, usual.size)
	assert.NotEqual(t, a, b)
	assert.NotEqual(t, a, usual.text(1, 1))
	assert.Equal(t, a, usual.text(1, 0))
	assert.NotContains(t, string(a), "0", "grep looks for a word with it")
}

func TestUsage(t *testing.T) {
	u, err := usage(os.Getpid())
	require.NoError(t, err)
	assert.Positive(t, u.cpu)
	assert.Positive(t, u.resident)
	assert.Positive(t, u.threads)
	all, err := tree(os.Getppid())
	require.NoError(t, err)
	assert.Contains(t, all, os.Getpid())
	held, err := treeMemory(os.Getpid())
	require.NoError(t, err)
	assert.Positive(t, held)
	assert.NotEqual(t, "unknown", mountOptions(t.TempDir()))
}
