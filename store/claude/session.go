package claude

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"memfs/store"
)

// sessionBeta is the anthropic-beta value of session calls.
const sessionBeta = "managed-agents-2026-04-01"

// Attachment is one store that a session has attached.
type Attachment struct {
	StoreID string
	// Name is the store's name when the session was made; "" where it has none.
	Name string
	// MountPath is where the session's agent was told to look, clean and
	// absolute; "" where the session does not say.
	MountPath string
	// ReadOnly stores must not be written to.
	ReadOnly bool
}

// Attachments reads the stores that a session has attached, in its order. A
// mount path that is relative or leads upwards is refused: nothing may be made
// there.
func Attachments(s *anthropic.BetaManagedAgentsSession) ([]Attachment, error) {
	var out []Attachment
	for _, r := range s.Resources {
		if r.Type != "memory_store" {
			continue
		}
		if err := checkID(r.MemoryStoreID); err != nil {
			return nil, fmt.Errorf("session %s: %w: %w", s.ID, store.ErrProtocol, err)
		}
		path := r.MountPath
		if path != "" {
			if !filepath.IsAbs(path) || slices.Contains(strings.Split(path, "/"), "..") || filepath.Clean(path) == "/" {
				return nil, fmt.Errorf("session %s: %w: the mount path %q of store %s is not a clean absolute path",
					s.ID, store.ErrProtocol, path, r.MemoryStoreID)
			}
			path = filepath.Clean(path)
		}
		out = append(out, Attachment{
			StoreID:   r.MemoryStoreID,
			Name:      r.Name,
			MountPath: path,
			ReadOnly:  r.Access == anthropic.BetaManagedAgentsMemoryStoreResourceAccessReadOnly,
		})
	}
	return out, nil
}

// SessionStores asks for a session and returns the stores it has attached.
func (a *API) SessionStores(ctx context.Context, sessionID string) ([]Attachment, error) {
	if err := checkID(sessionID); err != nil {
		return nil, fmt.Errorf("session %q: %w: %w", sessionID, store.ErrInvalid, err)
	}
	res, err := send(ctx, basicAnswer, func(ctx context.Context) (*anthropic.BetaManagedAgentsSession, error) {
		return a.sdk.Beta.Sessions.Get(ctx, sessionID, anthropic.BetaSessionGetParams{}, option.WithHeader("anthropic-beta", sessionBeta))
	})
	if err == nil {
		err = sameID(sessionID, res.ID)
	}
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", sessionID, err)
	}
	return Attachments(res)
}
