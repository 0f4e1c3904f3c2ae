package claude

import (
	"errors"
	"fmt"
	"io"

	"memfs/store"
)

// maxValues is how many JSON values an answer may have: several times those of
// the largest page.
const maxValues = 20_000

// Bound returns an answer's body that fails with store.ErrProtocol once it is
// longer than a number of bytes or has more than a number of JSON values. The
// decoder takes about a hundred times the bytes of a short value, so that their
// number has to be bounded too. A body that is cut off is store.ErrUnavailable.
func Bound(body io.ReadCloser, bytes int64, values int) io.ReadCloser {
	return &boundedBody{ReadCloser: body, left: bytes, limit: bytes, values: counter{left: values}}
}

type boundedBody struct {
	io.ReadCloser
	left, limit int64
	values      counter
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	switch {
	case b.left < 0:
		return n, tooLong(b.limit)
	case !b.values.few(p[:n]):
		return n, fmt.Errorf("%w: more values than any answer has", store.ErrProtocol)
	case err != nil && !errors.Is(err, io.EOF):
		return n, &store.UnavailableError{Cause: fmt.Errorf("answer cut off: %w", err)}
	}
	return n, err
}

func tooLong(limit int64) error {
	return fmt.Errorf("%w: longer than %d bytes", store.ErrProtocol, limit)
}

// counter counts JSON values as they go by, in text that need not be JSON.
type counter struct {
	left              int
	quoted, backslash bool
}

// few counts what p goes on with and reports whether there are still few
// enough.
func (v *counter) few(p []byte) bool {
	for _, c := range p {
		switch {
		case v.backslash:
			v.backslash = false
		case v.quoted:
			v.backslash, v.quoted = c == '\\', c != '"'
		case c == '"':
			v.quoted = true
		case c == ',', c == '[', c == '{':
			v.left--
		}
	}
	return v.left >= 0
}
