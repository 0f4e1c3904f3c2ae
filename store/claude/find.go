package claude

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"memfs/store"
)

// UnknownStoreError says that no store has this id or name. errors.Is with
// store.ErrNotFound holds.
type UnknownStoreError struct {
	// Ref is what was asked for.
	Ref string
	// Known are the stores there are; archived ones are left out.
	Known []store.Info
}

func (e *UnknownStoreError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("no store has the id or name %q; the credential sees no stores at all", e.Ref)
	}
	return fmt.Sprintf("no store has the id or name %q; there are %s", e.Ref, describe(e.Known))
}

// Is makes errors.Is(err, store.ErrNotFound) hold.
func (e *UnknownStoreError) Is(target error) bool { return target == store.ErrNotFound }

// AmbiguousStoreError says that several stores have this name.
type AmbiguousStoreError struct {
	// Ref is the name that was asked for.
	Ref string
	// Candidates are the stores that have it.
	Candidates []store.Info
}

func (e *AmbiguousStoreError) Error() string {
	return fmt.Sprintf("%d stores are called %q; use an id: %s", len(e.Candidates), e.Ref, describe(e.Candidates))
}

// Find returns the store with this id, archived or not, else the only one with
// this name that is not archived. It fails with *UnknownStoreError or
// *AmbiguousStoreError.
func (a *API) Find(ctx context.Context, idOrName string) (store.Info, error) {
	if strings.HasPrefix(idOrName, "memstore_") && checkID(idOrName) == nil {
		info, err := a.info(ctx, idOrName)
		if !errors.Is(err, store.ErrNotFound) {
			return info, err
		}
	}
	all, err := a.Stores(ctx)
	if err != nil {
		return store.Info{}, err
	}
	var named []store.Info
	for _, info := range all {
		if info.ID == idOrName {
			return info, nil
		}
		if info.Name == idOrName {
			named = append(named, info)
		}
	}
	switch len(named) {
	case 0:
		return store.Info{}, &UnknownStoreError{Ref: idOrName, Known: all}
	case 1:
		return named[0], nil
	default:
		return store.Info{}, &AmbiguousStoreError{Ref: idOrName, Candidates: named}
	}
}

// describe names stores in one line, the first ten of them.
func describe(infos []store.Info) string {
	const most = 10
	parts := make([]string, 0, most+1)
	for i, info := range infos {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(infos)-most))
			break
		}
		parts = append(parts, fmt.Sprintf("%s (%.80q)", info.ID, info.Name))
	}
	return strings.Join(parts, ", ")
}
