package replica

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"memfs/store/replica/conflicts"
	"memfs/store/replica/disk"
)

// ConflictArea is the conflict area of one store at one endpoint.
type ConflictArea struct {
	*conflicts.Area
	key string
}

// Of reports whether the area is that of a store at an endpoint.
func (a ConflictArea) Of(endpoint, storeID string) bool { return a.Is(digest(endpoint, storeID)) }

// Is reports whether the area is that of the store whose replica has this
// Status.Area.
func (a ConflictArea) Is(area string) bool { return a.key == area }

// ConflictAreas opens every conflict area that lies in a state directory,
// whether its store is attached or not; close closes them, and removes those
// that are empty. There are none where there is no state directory.
func ConflictAreas(stateDir string) (areas []ConflictArea, close func(), err error) {
	if _, err := os.Stat(stateDir); errors.Is(err, fs.ErrNotExist) {
		return nil, func() {}, nil
	}
	o := &openAreas{}
	if err := o.open(stateDir); err != nil {
		o.close()
		return nil, nil, err
	}
	return o.areas, o.close, nil
}

// openAreas are conflict areas and the directories that were opened for them,
// the state directory first.
type openAreas struct {
	dirs  []*disk.Dir
	areas []ConflictArea
}

func (o *openAreas) close() {
	for _, area := range o.areas {
		removeEmptyArea(o.dirs[0], area.key)
	}
	for _, dir := range slices.Backward(o.dirs) {
		_ = dir.Close() // opened for looking up names only
	}
}

func (o *openAreas) open(stateDir string) error {
	top, err := disk.Open(stateDir, nil)
	if err != nil {
		return err
	}
	o.dirs = append(o.dirs, top)
	all, err := top.Sub(conflictsName)
	if err != nil {
		return err
	}
	o.dirs = append(o.dirs, all)
	keys, err := all.List("conflicts")
	if err != nil {
		return err
	}
	for _, key := range keys {
		dir, err := all.Sub(key)
		if err != nil {
			return err
		}
		o.dirs = append(o.dirs, dir)
		area, err := conflicts.Open(dir, conflicts.Options{})
		if err != nil {
			return err
		}
		o.areas = append(o.areas, ConflictArea{Area: area, key: key})
	}
	return nil
}
