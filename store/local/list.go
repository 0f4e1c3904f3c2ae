package local

import (
	"database/sql"
	"strings"
)

// item is an entry of a listing: a memory, or a prefix that stands for all
// memories below a child directory.
type item struct {
	path   string
	object any
}

// prefixObject is a memory_prefix as the API writes it.
type prefixObject struct {
	Type string `json:"type"`
	Path string `json:"path"`
}

// listing says which memories are asked for.
type listing struct {
	store, prefix string
	children      bool // direct children only, the API's depth=1
	full          bool
	limit         int
}

// listMemories answers with one page in byte order of the paths.
func (s *Server) listMemories(c *call) (any, error) {
	l, err := c.listing()
	if err != nil {
		return nil, err
	}
	name := strings.Join([]string{"memories", l.store, l.prefix, c.query.Get("depth")}, "\x00")
	after, err := c.after(name)
	if err != nil {
		return nil, err
	}
	var items []item
	err = s.read(c.context(), func(tx *sql.Tx) error {
		if _, err := loadStore(tx, l.store); err != nil {
			return err
		}
		items, err = l.walk(tx, after)
		return err
	})
	if err != nil {
		return nil, err
	}
	p := pageOf(items, l.limit, name, func(i item) string { return i.path })
	objects := page[any]{Next: p.Next}
	for _, i := range p.Data {
		objects.Data = append(objects.Data, i.object)
	}
	return objects, nil
}

func (c *call) listing() (listing, error) {
	l := listing{store: c.storeID(), prefix: c.query.Get("path_prefix")}
	if l.prefix == "" {
		l.prefix = "/"
	}
	if !strings.HasSuffix(l.prefix, "/") {
		return l, invalid("path_prefix %q does not end with a slash", l.prefix)
	}
	switch depth := c.query.Get("depth"); depth {
	case "", "0":
	case "1":
		l.children = true
	default:
		return l, invalid("depth %q is not 0 or 1", depth)
	}
	var err error
	if l.full, err = c.full(false); err != nil {
		return l, err
	}
	l.limit, err = c.limit(l.full)
	return l, err
}

// walk returns the items after a path, one more than the limit if there are as
// many. A child directory costs one seek, however much is below it.
func (l listing) walk(tx *sql.Tx, after string) ([]item, error) {
	from, high := subtree(l.prefix)
	if after != "" {
		from = past(after)
	}
	var items []item
	for more := true; more && len(items) <= l.limit; {
		run, err := l.run(tx, from, high, l.limit+1-len(items))
		if err != nil {
			return nil, err
		}
		items = append(items, run.items...)
		if more = run.skipped; more {
			from = past(items[len(items)-1].path)
		}
	}
	return items, nil
}

// run is a stretch of items from one query.
type run struct {
	items []item
	// skipped: the last item is a prefix, and what follows it was not looked at.
	skipped bool
}

func (l listing) run(tx *sql.Tx, from, high string, limit int) (run, error) {
	var out run
	rows, err := tx.Query(l.query(), l.store, from, high, limit)
	if err != nil {
		return out, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		m, err := scanMemory(rows)
		if err != nil {
			return out, err
		}
		child, _, below := strings.Cut(m.Path[len(l.prefix):], "/")
		if l.children && below {
			dir := l.prefix + child + "/"
			out.items = append(out.items, item{dir, prefixObject{Type: "memory_prefix", Path: dir}})
			out.skipped = true
			return out, nil
		}
		out.items = append(out.items, item{m.Path, m})
	}
	return out, rows.Err()
}

// query selects a range of a store's memories, with the most to return.
func (l listing) query() string {
	columns := basicMemory
	if l.full {
		columns = fullMemory
	}
	return "SELECT " + columns + " WHERE m.store = ? AND m.path >= ? AND m.path < ? ORDER BY m.path LIMIT ?"
}

// past returns the least string that sorts after an item and all that it
// stands for. No path holds a byte below a space.
func past(path string) string {
	if strings.HasSuffix(path, "/") {
		_, high := subtree(path)
		return high
	}
	return path + " "
}
