package main

import (
	"io"
	"os"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/mattn/go-isatty"

	"memfs/cmd/memfs/internal/visible"
)

// side is a text in a diff, and what it is called there.
type side struct {
	name string
	text []byte
}

// printDiff prints what leads from one text to another, as a unified diff.
func (a *app) printDiff(from, to side) error {
	diff := udiff.Unified(from.name, to.name, string(from.text), string(to.text))
	if !a.onTerminal() {
		_, err := io.WriteString(a.stdout, diff)
		return err
	}
	diff = visible.Text(diff)
	if os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" {
		diff = coloured(diff)
	}
	_, err := io.WriteString(a.stdout, diff)
	return err
}

// onTerminal reports whether a person reads the output.
func (a *app) onTerminal() bool {
	f, ok := a.stdout.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// coloured is a diff with the colours that people know from git.
func coloured(diff string) string {
	colours := map[byte]string{'-': "\x1b[31m", '+': "\x1b[32m", '@': "\x1b[36m"}
	var b strings.Builder
	for line := range strings.Lines(diff) {
		text, newline := strings.CutSuffix(line, "\n")
		colour := ""
		if text != "" {
			colour = colours[text[0]]
		}
		if colour != "" {
			text = colour + text + "\x1b[0m"
		}
		b.WriteString(text)
		if newline {
			b.WriteByte('\n')
		}
	}
	return b.String()
}
