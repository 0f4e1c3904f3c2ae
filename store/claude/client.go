package claude

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"memfs/store"
)

// refusalMemory is how long an answer to "is the store archived?" is believed,
// so that a burst of refused writes asks once.
const refusalMemory = 30 * time.Second

// client implements store.Client.
type client struct {
	reader

	mu       sync.Mutex
	archived bool
	asked    time.Time
}

// Create implements store.Client.
func (c *client) Create(ctx context.Context, path string, content []byte) (store.Memory, error) {
	if err := sendable(&path, &content); err != nil {
		return store.Memory{}, fmt.Errorf("create memory: %w", err)
	}
	params := anthropic.BetaMemoryStoreMemoryNewParams{
		Path:    path,
		Content: param.NewOpt(string(content)),
		View:    anthropic.BetaManagedAgentsMemoryViewBasic,
	}
	res, err := send(ctx, basicAnswer, func(ctx context.Context) (*anthropic.BetaManagedAgentsMemory, error) {
		return c.api.sdk.Beta.MemoryStores.Memories.New(ctx, c.id, params, c.api.memory...)
	})
	if err != nil {
		return store.Memory{}, fmt.Errorf("create memory: %w", c.refusedWrite(ctx, err))
	}
	return c.written(*res, "", &path, store.Hash(content))
}

// Update implements store.Client.
func (c *client) Update(ctx context.Context, id string, u store.Update) (store.Memory, error) {
	if u.Expect.IsZero() || (u.Content == nil && u.Path == nil) {
		return store.Memory{}, fmt.Errorf("update memory %s: %w: nothing to change, or no hash expected", id, store.ErrInvalid)
	}
	if err := sendable(u.Path, u.Content); err != nil {
		return store.Memory{}, fmt.Errorf("update memory %s: %w", id, err)
	}
	params := anthropic.BetaMemoryStoreMemoryUpdateParams{
		MemoryStoreID: c.id,
		View:          anthropic.BetaManagedAgentsMemoryViewBasic,
		Precondition:  anthropic.BetaManagedAgentsPreconditionParam{ContentSha256: param.NewOpt(u.Expect.String())},
	}
	sum := u.Expect
	if u.Content != nil {
		params.Content = param.NewOpt(string(*u.Content))
		sum = store.Hash(*u.Content)
	}
	if u.Path != nil {
		params.Path = param.NewOpt(*u.Path)
	}
	res, err := send(ctx, basicAnswer, func(ctx context.Context) (*anthropic.BetaManagedAgentsMemory, error) {
		return c.api.sdk.Beta.MemoryStores.Memories.Update(ctx, id, params, c.api.memory...)
	})
	if err != nil {
		return store.Memory{}, fmt.Errorf("update memory %s: %w", id, c.refusedWrite(ctx, err))
	}
	return c.written(*res, id, u.Path, sum)
}

// Delete implements store.Client.
func (c *client) Delete(ctx context.Context, id string, expect store.SHA) error {
	if expect.IsZero() {
		return fmt.Errorf("delete memory %s: %w: no hash expected", id, store.ErrInvalid)
	}
	params := anthropic.BetaMemoryStoreMemoryDeleteParams{
		MemoryStoreID:         c.id,
		ExpectedContentSha256: param.NewOpt(expect.String()),
	}
	res, err := send(ctx, basicAnswer, func(ctx context.Context) (*anthropic.BetaManagedAgentsDeletedMemory, error) {
		return c.api.sdk.Beta.MemoryStores.Memories.Delete(ctx, id, params, c.api.memory...)
	})
	if err == nil {
		err = sameID(id, res.ID)
	}
	if err != nil {
		return fmt.Errorf("delete memory %s: %w", id, err)
	}
	return nil
}

// written checks the answer to a write: it must describe what was written.
func (c *client) written(m anthropic.BetaManagedAgentsMemory, id string, path *string, sum store.SHA) (store.Memory, error) {
	out, err := c.memory(m, false)
	switch {
	case err != nil:
	case id != "" && out.ID != id:
		err = sameID(id, out.ID)
	case path != nil && out.Path != *path:
		err = fmt.Errorf("%w: memory %s stands at another path than it was written to", store.ErrProtocol, out.ID)
	case out.SHA != sum:
		err = fmt.Errorf("%w: memory %s does not hold what was written", store.ErrProtocol, out.ID)
	}
	if err != nil {
		return store.Memory{}, err
	}
	return out, nil
}

// refusedWrite tells an archived store from refused content after a 400. A
// store at its cap cannot be told by one request: that stays ErrInvalid, and
// whoever knows the count decides.
func (c *client) refusedWrite(ctx context.Context, err error) error {
	if !errors.Is(err, store.ErrInvalid) {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked.IsZero() || time.Since(c.asked) > refusalMemory {
		info, infoErr := c.Info(ctx)
		if infoErr != nil {
			// Refused for a reason not known: nothing may be concluded about
			// the content, so the write has to be tried again.
			return &store.UnavailableError{Cause: fmt.Errorf("a write was refused, and the store could not be read: %w", plain(infoErr))}
		}
		c.archived, c.asked = info.Archived(), time.Now()
	}
	if c.archived {
		return store.ErrArchived
	}
	return err
}

// sendable refuses what JSON cannot carry: the encoder would replace invalid
// UTF-8 silently, and the store would hold another text than the file.
func sendable(path *string, content *[]byte) error {
	if path != nil && !utf8.ValidString(*path) {
		return fmt.Errorf("%w: not UTF-8", store.ErrPathIllegal)
	}
	if content != nil && !utf8.Valid(*content) {
		return store.ErrNotText
	}
	return nil
}

// plain keeps an error's text but not its kind, so that the store's 404 is not
// taken for the memory's.
func plain(err error) error { return errors.New(err.Error()) }
