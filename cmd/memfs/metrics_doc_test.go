package main_test

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// documentedMetrics are the metrics of OPERATIONS.md and their labels.
func documentedMetrics(t *testing.T) map[string][]string {
	t.Helper()
	manual, err := os.ReadFile("../../docs/OPERATIONS.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(manual), "\n## Metrics\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	word := regexp.MustCompile("`([a-z_]+)`")
	all := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`memfs_[^|]+) \\| ([^|]*)\\|").FindAllStringSubmatch(section, -1) {
		var labels []string
		if !strings.HasPrefix(row[2], "–") {
			labels = []string{"path", "store"}
		}
		for _, label := range word.FindAllStringSubmatch(row[2], -1) {
			labels = append(labels, label[1])
		}
		slices.Sort(labels)
		for _, name := range word.FindAllStringSubmatch(row[1], -1) {
			if !strings.HasPrefix(name[1], "memfs_worker_") { // a mount has none of these
				all[name[1]] = labels
			}
		}
	}
	return all
}

// TestMetricsAreThoseOfTheManual scrapes a mount in which there was something of
// every kind.
func TestMetricsAreThoseOfTheManual(t *testing.T) {
	h := quiet(t)
	h.store("notes")
	mnt := h.path("mnt")
	r, w, err := os.Pipe()
	require.NoError(t, err)
	cmd := h.command("mount", "notes:"+mnt, "--metrics-addr=0")
	cmd.Stderr = w
	require.NoError(t, cmd.Start())
	require.NoError(t, w.Close())
	address := ""
	for log := bufio.NewScanner(r); log.Scan() && !strings.Contains(log.Text(), `"code": "mounted"`); {
		if got := regexp.MustCompile(`"address": "([0-9.:]+)"`).FindStringSubmatch(log.Text()); got != nil {
			address = got[1]
		}
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	write(t, filepath.Join(mnt, "a.md"), "one\n")
	h.must("sync", mnt)
	require.Error(t, os.Symlink("a.md", filepath.Join(mnt, "link"))) // an errno

	res, err := http.Get("http://" + address + "/metrics")
	require.NoError(t, err)
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	label := regexp.MustCompile(`([a-z_]+)="`)
	served := map[string][]string{}
	for _, sample := range regexp.MustCompile(`(?m)^(memfs_\w+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? `).FindAllStringSubmatch(string(text), -1) {
		var labels []string
		for _, l := range label.FindAllStringSubmatch(sample[2], -1) {
			if l[1] != "le" {
				labels = append(labels, l[1])
			}
		}
		slices.Sort(labels)
		served[sample[1]] = labels
	}
	assert.Equal(t, documentedMetrics(t), served)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())
}
