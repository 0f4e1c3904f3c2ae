package local

import (
	"fmt"
	"strconv"
	"time"

	"memfs/store"
)

// defaultPage is the page size when a request names none.
const defaultPage = 20

// stamp is a time in microseconds since 1970.
type stamp int64

// String is RFC 3339 in UTC, always with microseconds.
func (s stamp) String() string {
	return time.UnixMicro(int64(s)).UTC().Format("2006-01-02T15:04:05.000000Z")
}

// MarshalText writes what String returns.
func (s stamp) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// full reads the view parameter: whether contents are asked for.
func (c *call) full(byDefault bool) (bool, error) {
	switch view := c.query.Get("view"); view {
	case "":
		return byDefault, nil
	case "basic":
		return false, nil
	case "full":
		return true, nil
	default:
		return false, invalid("view %q is not basic or full", view)
	}
}

// limit reads the page size. A full page is capped without a word.
func (c *call) limit(full bool) (int, error) {
	limit, err := c.number("limit", defaultPage, 1, store.MaxBasicPage)
	if full {
		limit = min(limit, store.MaxFullPage)
	}
	return limit, err
}

// number reads a whole number within least..most.
func (c *call) number(name string, byDefault, least, most int) (int, error) {
	text := c.query.Get(name)
	if text == "" {
		return byDefault, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, invalid("%s %q is not within %d..%d", name, text, least, most)
	}
	return n, nil
}

// flag reads a boolean parameter, false when absent.
func (c *call) flag(name string) (bool, error) {
	switch text := c.query.Get(name); text {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, invalid("%s %q is not true or false", name, text)
	}
}

// between adds the inclusive bounds created_at[gte] and created_at[lte] to a
// condition on the column created. Bounds may be finer than a microsecond.
func (c *call) between(where *condition) error {
	if text := c.query.Get("created_at[gte]"); text != "" {
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return invalid("created_at[gte] %q is not an RFC 3339 time", text)
		}
		where.and("created >= ?", t.Add(time.Microsecond-1).UnixMicro())
	}
	if text := c.query.Get("created_at[lte]"); text != "" {
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return invalid("created_at[lte] %q is not an RFC 3339 time", text)
		}
		where.and("created <= ?", t.UnixMicro())
	}
	return nil
}

// condition collects the terms of a WHERE clause.
type condition struct {
	sql  string
	args []any
}

func (w *condition) and(term string, args ...any) {
	if w.sql == "" {
		w.sql = " WHERE " + term
	} else {
		w.sql += " AND " + term
	}
	w.args = append(w.args, args...)
}

// name tells two conditions apart: it is part of what a cursor is bound to.
func (w *condition) name() string {
	name := w.sql
	for _, arg := range w.args {
		name += fmt.Sprintf("\x00%v", arg)
	}
	return name
}
