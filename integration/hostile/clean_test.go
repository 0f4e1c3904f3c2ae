//go:build linux

package hostile

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/stretchr/testify/assert"
)

// maxLine is more than a line of the log needs, in bytes: a dozen of the longest
// paths.
const maxLine = 16 << 10

// clean requires of a log that it has one JSON object a line, none of them long,
// nothing that could do something to a terminal, no secret, no content and no
// trace of a panic.
func (h *host) clean(log string) {
	h.t.Helper()
	for line := range strings.Lines(log) {
		assert.Less(h.t, len(line), maxLine, "%.200s", line)
		var event object
		if strings.HasPrefix(line, "memfs: ") {
			continue // how the command ended
		}
		if !assert.NoError(h.t, json.Unmarshal([]byte(line), &event), "%q", line) {
			return
		}
		assert.NotEqual(h.t, "panic", event["code"], line)
	}
	h.printable(log)
	assert.NotContains(h.t, log, "panic:")
	assert.NotContains(h.t, log, credential)
	assert.NotContains(h.t, log, strings.TrimSpace(honestText))
	assert.NotContains(h.t, log, strings.TrimSpace(mineText))
}

// printable requires of what memfs says that it does nothing to a terminal but
// show text.
func (h *host) printable(text string) {
	h.t.Helper()
	for _, r := range text {
		if r == '\n' {
			continue
		}
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || r == unicode.ReplacementChar {
			at := strings.IndexRune(text, r)
			assert.Fail(h.t, "not printable", "%U in %q", r, text[max(0, at-100):min(len(text), at+20)])
			return
		}
	}
}
