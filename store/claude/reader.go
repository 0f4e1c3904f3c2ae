package claude

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/pagination"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"memfs/store"
)

// reader implements store.Reader. It has no write methods, and none can be had
// from it.
type reader struct {
	api *API
	id  string
}

// Info implements store.Reader.
func (r *reader) Info(ctx context.Context) (store.Info, error) { return r.api.info(ctx, r.id) }

// List implements store.Reader.
func (r *reader) List(ctx context.Context, q store.ListQuery) (store.ListPage, error) {
	limit, view, answer := pageOf(q.Full)
	params := anthropic.BetaMemoryStoreMemoryListParams{Limit: param.NewOpt(int64(limit)), View: view}
	if q.Prefix != "" {
		params.PathPrefix = param.NewOpt(q.Prefix)
	}
	if q.Children {
		params.Depth = param.NewOpt[int64](1)
	}
	if q.Page != "" {
		params.Page = param.NewOpt(q.Page)
	}
	res, err := send(ctx, answer, func(ctx context.Context) (*pagination.PageCursor[anthropic.BetaManagedAgentsMemoryListItemUnion], error) {
		return r.api.sdk.Beta.MemoryStores.Memories.List(ctx, r.id, params, r.api.memory...)
	})
	if err == nil {
		err = checkPage(res.JSON.Data, q.Page, res.NextPage)
	}
	if err != nil {
		return store.ListPage{}, fmt.Errorf("list memories: %w", err)
	}
	page := store.ListPage{Next: res.NextPage, Memories: make([]store.Memory, 0, len(res.Data))}
	for _, item := range res.Data {
		switch item.Type {
		case "memory":
			m, err := r.memory(listed(item), q.Full)
			if err != nil {
				return store.ListPage{}, fmt.Errorf("list memories: %w", err)
			}
			page.Memories = append(page.Memories, m)
		case "memory_prefix":
			page.Prefixes = append(page.Prefixes, item.Path)
		}
	}
	return page, nil
}

// Get implements store.Reader.
func (r *reader) Get(ctx context.Context, id string) (store.Memory, error) {
	params := anthropic.BetaMemoryStoreMemoryGetParams{MemoryStoreID: r.id, View: anthropic.BetaManagedAgentsMemoryViewFull}
	res, err := send(ctx, basicAnswer, func(ctx context.Context) (*anthropic.BetaManagedAgentsMemory, error) {
		return r.api.sdk.Beta.MemoryStores.Memories.Get(ctx, id, params, r.api.memory...)
	})
	if err == nil {
		err = sameID(id, res.ID)
	}
	if err != nil {
		return store.Memory{}, fmt.Errorf("get memory %s: %w", id, err)
	}
	return r.memory(*res, true)
}

// Versions implements store.Reader.
func (r *reader) Versions(ctx context.Context, q store.VersionQuery) (store.VersionPage, error) {
	limit, view, answer := pageOf(q.Full)
	if q.Limit > 0 {
		limit = min(limit, q.Limit)
	}
	params := anthropic.BetaMemoryStoreMemoryVersionListParams{Limit: param.NewOpt(int64(limit)), View: view}
	if q.MemoryID != "" {
		params.MemoryID = param.NewOpt(q.MemoryID)
	}
	if !q.Since.IsZero() {
		params.CreatedAtGte = param.NewOpt(q.Since)
	}
	if q.Page != "" {
		params.Page = param.NewOpt(q.Page)
	}
	res, err := send(ctx, answer, func(ctx context.Context) (*pagination.PageCursor[anthropic.BetaManagedAgentsMemoryVersion], error) {
		return r.api.sdk.Beta.MemoryStores.MemoryVersions.List(ctx, r.id, params, r.api.memory...)
	})
	if err == nil {
		err = checkPage(res.JSON.Data, q.Page, res.NextPage)
	}
	if err != nil {
		return store.VersionPage{}, fmt.Errorf("list versions: %w", err)
	}
	page := store.VersionPage{Next: res.NextPage, Versions: make([]store.Version, 0, len(res.Data))}
	for _, item := range res.Data {
		v, err := r.version(item, q.Full)
		if err != nil {
			return store.VersionPage{}, fmt.Errorf("list versions: %w", err)
		}
		page.Versions = append(page.Versions, v)
	}
	return page, nil
}

// Version implements store.Reader.
func (r *reader) Version(ctx context.Context, id string) (store.Version, error) {
	params := anthropic.BetaMemoryStoreMemoryVersionGetParams{MemoryStoreID: r.id, View: anthropic.BetaManagedAgentsMemoryViewFull}
	res, err := send(ctx, basicAnswer, func(ctx context.Context) (*anthropic.BetaManagedAgentsMemoryVersion, error) {
		return r.api.sdk.Beta.MemoryStores.MemoryVersions.Get(ctx, id, params, r.api.memory...)
	})
	if err == nil {
		err = sameID(id, res.ID)
	}
	if err != nil {
		return store.Version{}, fmt.Errorf("get version %s: %w", id, err)
	}
	return r.version(*res, true)
}

// pageOf gives a listing's page size, view and largest answer.
func pageOf(full bool) (limit int, view anthropic.BetaManagedAgentsMemoryView, answer int64) {
	if full {
		return store.MaxFullPage, anthropic.BetaManagedAgentsMemoryViewFull, fullAnswer
	}
	return store.MaxBasicPage, anthropic.BetaManagedAgentsMemoryViewBasic, basicAnswer
}
