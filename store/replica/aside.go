package replica

import (
	"fmt"
	"strconv"

	"go.uber.org/zap"
)

// setAside makes room for a new replica where the journal that is there does not
// even begin as one: nothing in it can be trusted, and an agent's next session
// must not wait until a person looks. It stays on this host as a leftover of its
// own.
func (r *Replica) setAside(fault error) error {
	defer r.closeFiles()
	key := digest(r.place.key, strconv.FormatInt(r.o.Now().UnixNano(), 10))
	if err := r.place.open[1].Rename("aside", r.place.key, key); err != nil {
		return fmt.Errorf("set aside a damaged journal: %w", err)
	}
	r.o.Log.Error("journal damaged from its beginning: it is set aside with what was unsent in it",
		zap.String("code", "journal_unreadable"), zap.String("store", r.o.Store.ID), zap.String("path", r.o.MountPath),
		zap.String("leftover", leftoverID(key)), zap.Error(fault),
		zap.String("remedy", "memfs recover list shows it, memfs recover drop discards it; a copy of the state directory may still tell what was in it"))
	return nil
}
