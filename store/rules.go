package store

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Limits of the API. How many memories a store may hold is a setting, since
// the API's documentation has changed it.
const (
	// MaxContent is the largest content in bytes.
	MaxContent = 102_400
	// MaxPath is the longest path in bytes, the leading slash included.
	MaxPath = 1_024
	// MaxSegments is how many names a path may have.
	MaxSegments = 20
	// MaxSegment is the longest single name in bytes that a filesystem can
	// show. The API itself allows longer ones.
	MaxSegment = 255
	// MaxListedPath is how many bytes are kept of a path that a store lists and
	// that is too long to be shown.
	MaxListedPath = 4 * MaxPath
	// DefaultMaxMemories is how many memories a store may hold.
	DefaultMaxMemories = 10_000
	// MarkerName is the file at a mount's root that ties it to its store.
	MarkerName = ".anthropic-memory-store"
)

// Why a path or content cannot be held by a store.
var (
	// ErrPathTooLong: over MaxPath bytes, MaxSegments names or, in a name,
	// MaxSegment bytes.
	ErrPathTooLong = errors.New("path too long for a memory")
	// ErrPathIllegal: an empty, "." or ".." name, a control or format
	// character, a line or paragraph separator, invalid UTF-8, not NFC.
	ErrPathIllegal = errors.New("path not legal for a memory")
	// ErrNotText: the content is not valid UTF-8.
	ErrNotText = errors.New("content is not valid UTF-8 text")
)

// CheckPath applies the API's rules to a whole path. It does not apply
// MaxSegment: CheckName does.
func CheckPath(path string) error {
	rest, ok := strings.CutPrefix(path, "/")
	if !ok {
		return fmt.Errorf("%w: %.80q does not begin with a slash", ErrPathIllegal, path)
	}
	if len(path) > MaxPath {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrPathTooLong, len(path), MaxPath)
	}
	segments := strings.Split(rest, "/")
	if len(segments) > MaxSegments {
		return fmt.Errorf("%w: %d names, at most %d", ErrPathTooLong, len(segments), MaxSegments)
	}
	for _, segment := range segments {
		if err := checkSegment(segment); err != nil {
			return err
		}
	}
	return nil
}

// CheckName applies the rules to one name as a file or directory is made:
// those of the API and MaxSegment. The name must already be NFC (see
// NormalName).
func CheckName(name string) error {
	if len(name) > MaxSegment {
		return fmt.Errorf("%w: a name of %d bytes, at most %d", ErrPathTooLong, len(name), MaxSegment)
	}
	return checkSegment(name)
}

// NormalName returns name in NFC, the form in which stores keep names (R12).
// Invalid UTF-8 is returned as it is; CheckName refuses it. After 30 combining
// marks in a row U+034F is added, as Unicode's stream-safe form has it; without
// it CheckName refuses such a name.
func NormalName(name string) string {
	if norm.NFC.IsNormalString(name) || !utf8.ValidString(name) {
		return name
	}
	return norm.NFC.String(name)
}

// OneForm reports whether name can be written in no other Unicode form, letters
// aside that Unicode has twice, such as K and the kelvin sign.
func OneForm(name string) bool {
	return norm.NFC.IsNormalString(name) && norm.NFD.IsNormalString(name)
}

// CheckContent applies the API's rules to a content: MaxContent (ErrTooLarge)
// and valid UTF-8 (ErrNotText). Empty content, NUL and a BOM are allowed.
func CheckContent(content []byte) error {
	if len(content) > MaxContent {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(content), MaxContent)
	}
	if !utf8.Valid(content) {
		return ErrNotText
	}
	return nil
}

// Overlap reports whether two different paths cannot be in one store because
// one is an ancestor of the other.
func Overlap(a, b string) bool {
	return strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}

func checkSegment(segment string) error {
	switch {
	case segment == "":
		return fmt.Errorf("%w: empty name", ErrPathIllegal)
	case segment == "." || segment == "..":
		return fmt.Errorf("%w: name %q", ErrPathIllegal, segment)
	case !utf8.ValidString(segment):
		return fmt.Errorf("%w: name %q is not UTF-8", ErrPathIllegal, segment)
	case !norm.NFC.IsNormalString(segment):
		return fmt.Errorf("%w: name %q is not in NFC", ErrPathIllegal, segment)
	}
	for _, r := range segment {
		if r == '/' || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return fmt.Errorf("%w: name %q has the character %U", ErrPathIllegal, segment, r)
		}
	}
	return nil
}

// Marker returns the marker file's exact bytes for a store (R13).
func Marker(storeID string) []byte { return []byte("version 1\n" + storeID) }
