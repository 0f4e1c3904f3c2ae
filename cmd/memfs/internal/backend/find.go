package backend

import (
	"context"
	"errors"
	"fmt"

	"memfs/store"
	"memfs/store/claude"
)

// mostNamed is how many stores an error names.
const mostNamed = 5

// Find is that of claude.API, with errors that are short where there are many
// stores.
func (b *Backend) Find(ctx context.Context, idOrName string) (store.Info, error) {
	info, err := b.API.Find(ctx, idOrName)
	return info, shorter(err)
}

// shorter names some stores of many. Those of one name are all named: the user
// has to choose among them.
func shorter(err error) error {
	var unknown *claude.UnknownStoreError
	if !errors.As(err, &unknown) || len(unknown.Known) <= mostNamed {
		return err
	}
	some := &claude.UnknownStoreError{Ref: unknown.Ref, Known: unknown.Known[:mostNamed]}
	return fmt.Errorf("%w and %d more: memfs store list", some, len(unknown.Known)-mostNamed)
}
