package replica

import (
	"context"
	"errors"

	"memfs/store"
)

// markerOK reports whether the marker holds the right bytes (R13).
func (r *Replica) markerOK() bool {
	n := r.tree.root.children[store.MarkerName]
	if n == nil || n.dir {
		return false
	}
	return n.content.hash() == store.Hash(store.Marker(r.o.Store.ID))
}

// RestoreMarker puts the right bytes into the marker, which lets passes go on
// (R13).
func (r *Replica) RestoreMarker() error {
	a, err := r.Lookup(Root, store.MarkerName)
	if errors.Is(err, ErrNotExist) {
		a, err = r.Create(Root, store.MarkerName, r.o.FileMode, r.o.UID, r.o.GID)
	}
	if err != nil {
		return err
	}
	defer r.Forget(a.Ino, 1)
	marker := store.Marker(r.o.Store.ID)
	size := int64(len(marker))
	if _, err := r.Write(context.Background(), a.Ino, marker, 0); err != nil {
		return err
	}
	_, err = r.Setattr(context.Background(), a.Ino, SetAttr{Size: &size})
	return err
}
