package reconcile

import (
	"context"
	"sync/atomic"
	"time"

	"memfs/store"
)

// requestTimeout bounds one request (R14).
const requestTimeout = 30 * time.Second

// reads counts and bounds the requests of a store.Reader.
type reads struct {
	store.Reader
	count *atomic.Int64
}

func (r reads) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	r.count.Add(1)
	return context.WithTimeout(ctx, requestTimeout)
}

func (r reads) Info(ctx context.Context) (store.Info, error) {
	ctx, cancel := r.bound(ctx)
	defer cancel()
	return r.Reader.Info(ctx)
}

func (r reads) List(ctx context.Context, q store.ListQuery) (store.ListPage, error) {
	ctx, cancel := r.bound(ctx)
	defer cancel()
	return r.Reader.List(ctx, q)
}

func (r reads) Get(ctx context.Context, id string) (store.Memory, error) {
	ctx, cancel := r.bound(ctx)
	defer cancel()
	return r.Reader.Get(ctx, id)
}

func (r reads) Versions(ctx context.Context, q store.VersionQuery) (store.VersionPage, error) {
	ctx, cancel := r.bound(ctx)
	defer cancel()
	return r.Reader.Versions(ctx, q)
}

func (r reads) Version(ctx context.Context, id string) (store.Version, error) {
	ctx, cancel := r.bound(ctx)
	defer cancel()
	return r.Reader.Version(ctx, id)
}

// patient asks again where an answer is lost or the store is busy. What takes
// many requests of which none may fail is read through it: the first of a full
// listing's failures would end the listing, and with it an attach (R1). So is what
// no pass repeats.
type patient struct{ store.Reader }

func (p patient) Info(ctx context.Context) (store.Info, error) {
	return store.Patiently(ctx, p.Reader.Info)
}

func (p patient) List(ctx context.Context, q store.ListQuery) (store.ListPage, error) {
	return store.Patiently(ctx, func(ctx context.Context) (store.ListPage, error) { return p.Reader.List(ctx, q) })
}

func (p patient) Get(ctx context.Context, id string) (store.Memory, error) {
	return store.Patiently(ctx, func(ctx context.Context) (store.Memory, error) { return p.Reader.Get(ctx, id) })
}

func (p patient) Versions(ctx context.Context, q store.VersionQuery) (store.VersionPage, error) {
	return store.Patiently(ctx, func(ctx context.Context) (store.VersionPage, error) { return p.Reader.Versions(ctx, q) })
}

// writes does what reads does for the requests that change a store. A read-only store
// has none (R10).
type writes struct {
	client store.Client
	reads
}

func (w writes) Create(ctx context.Context, path string, content []byte) (store.Memory, error) {
	ctx, cancel := w.bound(ctx)
	defer cancel()
	return w.client.Create(ctx, path, content)
}

func (w writes) Update(ctx context.Context, id string, u store.Update) (store.Memory, error) {
	ctx, cancel := w.bound(ctx)
	defer cancel()
	return w.client.Update(ctx, id, u)
}

func (w writes) Delete(ctx context.Context, id string, expect store.SHA) error {
	ctx, cancel := w.bound(ctx)
	defer cancel()
	return w.client.Delete(ctx, id, expect)
}
