package local

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of what describes a store, and of metadata, in characters; the API
// counts so.
const (
	maxName          = 255
	maxDescription   = 1_024
	maxPairs         = 16
	maxMetadataKey   = 64
	maxMetadataValue = 512
)

// check applies the API's rules for what describes a store.
func (st storeObject) check() error {
	if n := utf8.RuneCountInString(st.Name); n < 1 || n > maxName {
		return invalid("name has %d characters, want 1..%d", n, maxName)
	}
	if strings.ContainsFunc(st.Name, unicode.IsControl) {
		return invalid("name has a control character")
	}
	if n := utf8.RuneCountInString(st.Description); n > maxDescription {
		return invalid("description has %d characters, at most %d", n, maxDescription)
	}
	return checkMetadata(st.Metadata)
}

// checkMetadata applies the API's rules for metadata, of any object.
func checkMetadata(metadata map[string]string) error {
	if len(metadata) > maxPairs {
		return invalid("metadata has %d pairs, at most %d", len(metadata), maxPairs)
	}
	for key, value := range metadata {
		if n := utf8.RuneCountInString(key); n < 1 || n > maxMetadataKey {
			return invalid("a metadata key has %d characters, want 1..%d", n, maxMetadataKey)
		}
		if n := utf8.RuneCountInString(value); n > maxMetadataValue {
			return invalid("a metadata value has %d characters, at most %d", n, maxMetadataValue)
		}
	}
	return nil
}
