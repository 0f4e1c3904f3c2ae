//go:build linux || darwin

package fs

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"memfs/store/replica"
)

// attrPrefix begins the names of all attributes that there are. They can be
// read only: setting and removing is answered by the default, ENOSYS, which
// the kernel turns into EOPNOTSUPP for ever without asking again.
const attrPrefix = "user.memfs."

// fileAttrs are the attributes of a file, in the order in which they are
// listed. One whose value is empty is not there.
var fileAttrs = []struct {
	name  string
	value func(replica.Inspection) string
}{
	{"id", func(i replica.Inspection) string { return i.ID }},
	{"version", func(i replica.Inspection) string { return i.VersionID }},
	{"sha256", func(i replica.Inspection) string {
		if i.SHA.IsZero() {
			return ""
		}
		return i.SHA.String()
	}},
	{"base_sha256", func(i replica.Inspection) string {
		if i.BaseSHA.IsZero() {
			return ""
		}
		return i.BaseSHA.String()
	}},
	{"state", func(i replica.Inspection) string { return string(i.State) }},
	{"reason", func(i replica.Inspection) string { return i.Reason }},
	{"synced_at", func(i replica.Inspection) string {
		if i.SyncedAt.IsZero() {
			return ""
		}
		return i.SyncedAt.UTC().Format(time.RFC3339Nano)
	}},
}

// attribute is one extended attribute.
type attribute struct{ name, value string }

// attributes are those of a file, or of the root.
func (f *filesystem) attributes(ino replica.Ino) ([]attribute, error) {
	if ino == replica.Root {
		status, err := json.Marshal(f.describe())
		if err != nil {
			return nil, err
		}
		return []attribute{{"status", string(status)}, {"store", f.storeID}}, nil
	}
	a, err := f.tree.Getattr(ino)
	if err != nil || a.Dir {
		return nil, err
	}
	seen, err := f.tree.Inspect(ino)
	if err != nil {
		return nil, err
	}
	var list []attribute
	for _, attr := range fileAttrs {
		if value := attr.value(seen); value != "" {
			list = append(list, attribute{attr.name, value})
		}
	}
	return list, nil
}

// GetXAttr reads an attribute. Foreign ones are not supported rather than
// absent: that is what programs which copy attributes take for "never mind",
// and what ls remembers for the whole filesystem (R11).
func (f *filesystem) GetXAttr(_ <-chan struct{}, header *fuse.InHeader, attr string, dest []byte) (uint32, fuse.Status) {
	name, ours := strings.CutPrefix(attr, attrPrefix)
	if !ours {
		return 0, fuse.ENOTSUP
	}
	ino := inode(header)
	list, err := f.attributes(ino)
	if err != nil {
		return 0, f.status(err, "getxattr", ino, "")
	}
	for _, a := range list {
		if a.name == name {
			return copyOut(dest, a.value)
		}
	}
	return 0, fuse.ENOATTR
}

// ListXAttr names the attributes.
func (f *filesystem) ListXAttr(_ <-chan struct{}, header *fuse.InHeader, dest []byte) (uint32, fuse.Status) {
	ino := inode(header)
	list, err := f.attributes(ino)
	if err != nil {
		return 0, f.status(err, "listxattr", ino, "")
	}
	var names strings.Builder
	for _, a := range list {
		names.WriteString(attrPrefix + a.name + "\x00")
	}
	return copyOut(dest, names.String())
}

// copyOut copies value, or says how much room it takes.
func copyOut(dest []byte, value string) (uint32, fuse.Status) {
	if len(dest) < len(value) {
		return uint32(len(value)), fuse.ERANGE
	}
	return uint32(copy(dest, value)), fuse.OK
}
