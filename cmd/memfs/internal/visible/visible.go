// Package visible shows text that others wrote, agents and servers, so that it
// can do nothing to a terminal, a log or a table.
package visible

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns text of several lines with the escape of every character that
// could do something else than show: \u001b for ESC.
func Text(text string) string {
	return escaped(text, func(r rune) bool { return r == '\n' || r == '\t' })
}

// Line is Text for what is to stay on one line, or in one cell of a table.
func Line(text string) string { return escaped(text, func(rune) bool { return false }) }

func escaped(text string, kept func(rune) bool) string {
	if strings.IndexFunc(text, func(r rune) bool { return acts(r) && !kept(r) }) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if acts(r) && !kept(r) {
			_, _ = fmt.Fprintf(&b, "\\u%04x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// acts reports whether a character does something to a terminal or to the text
// around it, or is none.
func acts(r rune) bool {
	return r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// Writer writes a log: each Write is an event, which stays on its line. JSON
// stays the same JSON.
func Writer(w io.Writer) io.Writer { return lines{w} }

type lines struct{ io.Writer }

// Write is io.Writer's.
func (l lines) Write(p []byte) (int, error) {
	text, newline := strings.CutSuffix(string(p), "\n")
	text = Line(text)
	if newline {
		text += "\n"
	}
	if _, err := io.WriteString(l.Writer, text); err != nil {
		return 0, err
	}
	return len(p), nil
}
