package claude

import (
	"context"
	"errors"
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

// system are directories whose contents programs of root or the system's own
// programs take orders from.
var system = []string{"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/root", "/run", "/sbin", "/sys", "/usr",
	"/var/lib", "/var/run", "/var/spool", "/System", "/Library"}

// checkMountPath refuses a mount path that a session must not choose: one that
// is relative, leads upwards or has characters that a memory's path cannot have,
// one in a directory of the system, and one through a hidden directory, as
// programs keep their settings in.
func checkMountPath(path string) error {
	clean := filepath.Clean(path)
	switch {
	case !filepath.IsAbs(path) || slices.Contains(strings.Split(path, "/"), "..") || store.CheckPath(clean) != nil:
		return errors.New("is not a clean absolute path")
	case strings.Contains(clean, "/."):
		return errors.New("leads through a hidden directory")
	}
	for _, dir := range system {
		if clean == dir || strings.HasPrefix(clean, dir+"/") {
			return errors.New("is in a directory of the system")
		}
	}
	return nil
}

// Attachments reads the stores that a session has attached, in its order. A
// mount path at which nothing may be made is refused.
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
			if err := checkMountPath(path); err != nil {
				return nil, fmt.Errorf("session %s: %w: the mount path %.200q of store %s %w",
					s.ID, store.ErrProtocol, path, r.MemoryStoreID, err)
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
