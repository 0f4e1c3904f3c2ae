//go:build linux

package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"memfs/integration/workload"
	"memfs/store"
)

// writer is somebody else who uses a store by its API: in the directory that
// the editors change, and in one of its own.
type writer struct {
	r     *remote
	rng   *rand.Rand
	n     int
	texts map[string]string // of its own directory, by path; "" is none
}

// unsure is in the place of a text that may or may not be there.
const unsure = "?"

// own is the writer's own directory.
const own = "/api/"

func newWriter(r *remote, seed uint64) *writer {
	return &writer{r: r, rng: rand.New(rand.NewPCG(seed, 0)), texts: map[string]string{}}
}

func (w *world) write(x *writer) {
	for !w.over() {
		w.turn(func() {
			if err := x.write(w.ctx); err != nil && w.ctx.Err() == nil {
				w.t.Errorf("the writer at the API: %v", err)
			}
		})
		pause(x.rng, 400*time.Millisecond)
	}
}

// write changes one memory.
func (x *writer) write(ctx context.Context) error {
	memories, err := all(ctx, x.r.client)
	if errors.Is(err, store.ErrUnavailable) {
		return nil
	}
	if err != nil {
		return err
	}
	x.n++
	text := fmt.Sprintf("written at the API %d\n", x.n)
	if x.rng.IntN(2) == 0 {
		path := fmt.Sprint(own, x.rng.IntN(12), ".md")
		if x.rng.IntN(5) == 0 {
			text, err = "", x.remove(ctx, memories, path)
		} else {
			err = x.put(ctx, memories, path, text)
		}
		x.texts[path] = text
		if errors.Is(err, store.ErrUnavailable) { // this host is slow: nobody knows
			x.texts[path], err = unsure, nil
		}
		return err
	}
	// In the directory that is fought about, the mount's editor may be faster.
	path := "/pair0/" + workload.Names[x.rng.IntN(len(workload.Names))]
	switch x.rng.IntN(6) {
	case 0:
		err = x.remove(ctx, memories, path)
	case 1:
		err = x.move(ctx, memories, path, "/pair0/"+workload.Names[x.rng.IntN(len(workload.Names))])
	default:
		err = x.put(ctx, memories, path, text)
	}
	var taken *store.PathConflictError
	if errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrPrecondition) || errors.Is(err, store.ErrNotFound) || errors.As(err, &taken) {
		return nil
	}
	return err
}

func (x *writer) put(ctx context.Context, memories map[string]store.Memory, path, text string) error {
	content := []byte(text)
	m, there := memories[path]
	if !there {
		_, err := x.r.client.Create(ctx, path, content)
		return err
	}
	_, err := x.r.client.Update(ctx, m.ID, store.Update{Content: &content, Expect: m.SHA})
	return err
}

func (x *writer) move(ctx context.Context, memories map[string]store.Memory, from, to string) error {
	m, there := memories[from]
	if !there || from == to {
		return nil
	}
	_, err := x.r.client.Update(ctx, m.ID, store.Update{Path: &to, Expect: m.SHA})
	return err
}

func (x *writer) remove(ctx context.Context, memories map[string]store.Memory, path string) error {
	m, there := memories[path]
	if !there {
		return nil
	}
	return x.r.client.Delete(ctx, m.ID, m.SHA)
}

// all are a store's memories, by path, with contents.
func all(ctx context.Context, reader store.Reader) (map[string]store.Memory, error) {
	memories := map[string]store.Memory{}
	for q := (store.ListQuery{Full: true}); ; {
		page, err := reader.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, m := range page.Memories {
			memories[m.Path] = m
		}
		if page.Next == "" {
			return memories, nil
		}
		q.Page = page.Next
	}
}
