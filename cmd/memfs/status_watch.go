package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"memfs/cmd/memfs/internal/process"
)

// What a terminal is told. Nothing is ever cleared before it is drawn over, so
// that it does not flicker.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l" // the alternate screen, without a cursor
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	toTop       = "\x1b[H"
	endLine     = "\x1b[K\n"
	endScreen   = "\x1b[J"
)

// watch shows the state again and again until a signal comes. A terminal shows
// it in one place, and keeps the last of it.
func (a *app) watch(ctx context.Context, s statusSettings, paths []string) error {
	signals, stop := process.Signals()
	defer stop()
	screen := a.screen()
	if s.json {
		screen = nil
	}
	tick := time.NewTicker(s.watch)
	defer tick.Stop()
	var last bytes.Buffer
	if screen != nil {
		_, _ = io.WriteString(screen, enterScreen)
		defer func() { _, _ = fmt.Fprint(screen, leaveScreen, last.String()) }()
	}
	for {
		last.Reset()
		if err := a.show(ctx, s, paths, &last); err != nil {
			return err
		}
		if err := a.draw(screen, s, last.String()); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-signals:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// screen is the terminal that the output goes to; nil where it goes elsewhere.
func (a *app) screen() *os.File {
	f, ok := a.stdout.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return f
}

// width is how many characters a line of the terminal has; 0 where the output
// goes elsewhere.
func (a *app) width() int {
	screen := a.screen()
	if screen == nil {
		return 0
	}
	width, _, err := term.GetSize(int(screen.Fd()))
	if err != nil {
		return 0
	}
	return width
}

func (a *app) draw(screen *os.File, s statusSettings, text string) error {
	if screen == nil {
		if !s.json {
			text = time.Now().Format(time.RFC3339) + "\n" + text + "\n"
		}
		_, err := io.WriteString(a.stdout, text)
		return err
	}
	width, height, err := term.GetSize(int(screen.Fd()))
	if err != nil {
		return err
	}
	_, err = io.WriteString(screen, frame(text, width, height))
	return err
}

// frame draws lines over what a terminal shows, as far as they fit.
func frame(text string, width, height int) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	lines = lines[:min(len(lines), max(height-1, 0))]
	var out strings.Builder
	out.WriteString(toTop)
	for _, line := range lines {
		runes := []rune(line)
		out.WriteString(string(runes[:min(len(runes), width)]) + endLine)
	}
	out.WriteString(endScreen)
	return out.String()
}
