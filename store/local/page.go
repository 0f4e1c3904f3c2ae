package local

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// page is one page of a listing.
type page[T any] struct {
	Data []T     `json:"data"`
	Next *string `json:"next_page"`
}

// pageOf makes the page of at most limit items. The caller asked for one more,
// to know whether another page follows; key is an item's place in the order.
func pageOf[T any](items []T, limit int, list string, key func(T) string) page[T] {
	if len(items) <= limit {
		return page[T]{Data: items}
	}
	next := cursor(list, key(items[limit-1]))
	return page[T]{Data: items[:limit], Next: &next}
}

const (
	cursorPrefix = "page_"
	cursorSum    = 8
)

// cursor is the opaque form of a place in a list, which is named by all that
// decides its contents. The sum ties the two together: a cursor is of no use
// for another list, or altered.
func cursor(list, place string) string {
	sum := sha256.Sum256([]byte(list + "\x00" + place))
	return cursorPrefix + base64.RawURLEncoding.EncodeToString(append(sum[:cursorSum:cursorSum], place...))
}

// after returns the place that the call's page starts after; "" for the first
// page.
func (c *call) after(list string) (string, error) {
	text := c.query.Get("page")
	if text == "" {
		return "", nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(text, cursorPrefix))
	if err != nil || len(raw) <= cursorSum {
		return "", invalid("page is not a cursor of this server")
	}
	place := string(raw[cursorSum:])
	if !bytes.Equal([]byte(cursor(list, place)), []byte(text)) {
		return "", invalid("page is not a cursor of this list: the filters must stay the same")
	}
	return place, nil
}
