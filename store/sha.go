package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// SHA is the SHA-256 of a content's exact bytes. The zero value means that no
// hash is known.
type SHA [sha256.Size]byte

// Hash returns the SHA of content.
func Hash(content []byte) SHA { return sha256.Sum256(content) }

// ParseSHA reads the 64 lower-case hex digits that the API uses.
func ParseSHA(s string) (SHA, error) {
	var h SHA
	if len(s) != hex.EncodedLen(len(h)) {
		return SHA{}, fmt.Errorf("content hash %.80q: want %d hex digits", s, hex.EncodedLen(len(h)))
	}
	if _, err := hex.Decode(h[:], []byte(s)); err != nil {
		return SHA{}, fmt.Errorf("content hash %.80q: %w", s, err)
	}
	return h, nil
}

// String is the form the API uses: 64 lower-case hex digits.
func (h SHA) String() string { return hex.EncodeToString(h[:]) }

// IsZero reports whether no hash is known.
func (h SHA) IsZero() bool { return h == SHA{} }
