package volume

import (
	"fmt"
	"path/filepath"
	"strings"

	"memfs/store"
)

// Slug is the directory name that the API gives a store: the name in lower
// case, every run of characters other than ASCII letters and digits as one
// hyphen. Hyphens at the ends are dropped; "" means that the name gives none.
func Slug(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.Join(words, "-")
}

// Place gives the mount path of every spec, where stores[i] is what specs[i]
// names: its own path, else root and the store's slug, else root and its id.
// It refuses paths that are equal or inside each other.
func Place(root string, specs []Spec, stores []store.Info) ([]string, error) {
	paths := make([]string, len(specs))
	for i, s := range specs {
		paths[i] = s.Path
		if s.Path == "" {
			name := Slug(stores[i].Name)
			if name == "" {
				name = stores[i].ID
			}
			paths[i] = filepath.Join(root, name)
		}
		for j, other := range paths[:i] {
			if err := apart(stores[j], stores[i], other, paths[i]); err != nil {
				return nil, err
			}
		}
	}
	return paths, nil
}

func apart(a, b store.Info, pathA, pathB string) error {
	switch {
	case pathA == pathB:
		return fmt.Errorf("stores %s and %s would both be mounted at %s: give one of them another path, as %s:%s-2",
			label(a), label(b), pathA, b.ID, pathB)
	case strings.HasPrefix(pathA, pathB+"/"), strings.HasPrefix(pathB, pathA+"/"):
		return fmt.Errorf("stores %s and %s would be mounted inside each other, at %s and %s: give one of them another path",
			label(a), label(b), pathA, pathB)
	}
	return nil
}

func label(i store.Info) string {
	if i.Name == "" {
		return i.ID
	}
	return fmt.Sprintf("%s (%q)", i.ID, i.Name)
}
