package main

import (
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"memfs/cmd/memfs/internal/control"
)

// hydrationRefresh is the time between two looks at how much is left to fetch.
const hydrationRefresh = 500 * time.Millisecond

// showHydration shows a person at a terminal how the contents come in that are
// fetched in the background, until all are here or stop is called.
func (a *app) showHydration(report func() control.Report) (stop func()) {
	f, ok := a.stderr.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return func() {}
	}
	ended := make(chan struct{})
	var showing sync.WaitGroup
	showing.Go(func() { followHydration(f, report, ended) })
	return func() {
		close(ended)
		showing.Wait()
	}
}

func followHydration(f *os.File, report func() control.Report, ended <-chan struct{}) {
	total, left := hydrated(report())
	if left == 0 {
		return
	}
	bar := progressbar.NewOptions(total, progressbar.OptionSetWriter(f), progressbar.OptionShowCount(),
		progressbar.OptionSetDescription("contents here"), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetWidth(30), progressbar.OptionUseANSICodes(true))
	// A bar that cannot be shown is no loss, so its errors are passed over.
	defer func() { _ = bar.Clear() }()
	for left > 0 {
		_ = bar.Set(total - left)
		select {
		case <-time.After(hydrationRefresh):
		case <-ended:
			return
		}
		_, left = hydrated(report())
	}
}

// hydrated is how many memories all mounts have, and how many of them have no
// content here.
func hydrated(r control.Report) (total, left int) {
	for _, m := range r.Mounts {
		if view, err := viewOfMount(r, m); err == nil {
			total += view.Status.Memories
			left += view.Status.Remote
		}
	}
	return total, left
}
