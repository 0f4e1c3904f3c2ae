package replica

import (
	"time"

	"memfs/store"
)

// Ino numbers a file or directory. Numbers are never reused within a replica,
// so they serve the kernel as node ids without a generation.
type Ino uint64

// Root is the number of the replica's root directory.
const Root Ino = 1

// Attr is what stat shows of a file or directory.
type Attr struct {
	Ino Ino
	Dir bool
	// Mode holds the permission bits only.
	Mode  uint32
	Size  int64
	Nlink uint32
	UID   uint32
	GID   uint32
	Atime time.Time
	Mtime time.Time
	Ctime time.Time
	Btime time.Time
}

// Dirent is one name in a directory.
type Dirent struct {
	Name string
	// Cookie orders the directory's entries; it stays with the entry for its
	// life, so that reading can go on after it whatever came and went.
	Cookie uint64
	Attr   Attr
}

// SetAttr says what to change; nil fields stay. Size truncates or extends a
// file.
type SetAttr struct {
	Mode  *uint32
	UID   *uint32
	GID   *uint32
	Size  *int64
	Atime *time.Time
	Mtime *time.Time
}

// Change tells a watcher that a name was made, removed or given another inode
// by something other than a call of the watcher's own: a remote change.
type Change struct {
	Parent Ino
	Name   string
	// Old is the inode that stood under the name; 0 if there was none.
	Old Ino
}

// Base is what store and mount last agreed on for a memory.
type Base struct {
	ID        string
	VersionID string
	Path      string
	SHA       store.SHA
	Size      int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

// BaseOf is the base that memory m gives once it is applied.
func BaseOf(m store.Memory) Base {
	return Base{ID: m.ID, VersionID: m.VersionID, Path: m.Path, SHA: m.SHA, Size: m.Size,
		CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt}
}

// File is a live local file that is not the marker. It is a copy; Gen says which
// state of the file it is a copy of.
type File struct {
	Ino Ino
	// Gen moves with every change of content, name or place.
	Gen  uint64
	Path string
	// SHA and Size describe the local content. SHA is zero where the content
	// cannot be read back.
	SHA  store.SHA
	Size int64
	// MemoryID is the memory whose id the file carries: the one it was last
	// agreed to be, wherever it was moved since. "" for a file made here.
	MemoryID string
	// Scratch: its name and place are those of local-only files (R17), so
	// without a memory it never becomes one. It is described then where it
	// stands in a memory's way.
	Scratch bool
	// Fetched is false while the content was never needed on this host.
	Fetched bool
	// Written is when the content last changed here, Moved when the name or
	// place did; zero if never.
	Written time.Time
	Moved   time.Time
	// DirtySince is when the file first differed from what was last agreed.
	DirtySince time.Time
	// Emptied is set while the file is empty because it was truncated or
	// created and not written since.
	Emptied bool
	// Failed is set when the last write could not be kept (disk or scratch
	// full): the content is half a save.
	Failed bool
}

// Memory is one memory of base and where it is now in the tree.
type Memory struct {
	Base Base
	// At is the file that stands at the base path; nil if none does.
	At *File
	// Carrier is the live file that carries the memory's id, wherever it
	// stands; nil if there is none. It may equal At.
	Carrier *File
	// Touched is when a local change last concerned the base path (unlink,
	// rename); zero if none did since base last moved. First is the first of
	// them.
	Touched time.Time
	First   time.Time
	// Verdict is what was decided about its local delete.
	Verdict Verdict
}

// PathKind says what the tree has at a path.
type PathKind int

// What Snapshot finds at a path that it was asked about.
const (
	// Free: nothing there, and every ancestor is a directory or free.
	Free PathKind = iota
	// IsFile: a file; PathState.File describes it unless it is the marker.
	IsFile
	// IsDir: a directory; PathState.Below lists the files under it.
	IsDir
	// BelowFile: an ancestor is a file; PathState.File describes that file
	// unless it is the marker.
	BelowFile
)

// PathState is what the tree has at a path.
type PathState struct {
	Kind PathKind
	File *File
	// Below are the files under a directory, scratch too.
	Below []File
}

// Snapshot is one consistent look at what differs between tree and base, with
// the memories and paths that were asked about.
type Snapshot struct {
	// Time is when it was taken, by the replica's clock.
	Time time.Time
	// MarkerOK is false while the marker is missing or altered (R13).
	MarkerOK bool
	// Memories are those of base that differ locally, and those asked for.
	Memories []Memory
	// Files are the changed files that stand at no base path, in the order
	// of their last change.
	Files []File
	// Paths answers for each path that was asked about, and for the base paths
	// of Memories where no file stands.
	Paths map[string]PathState
	// Strays are texts written to inodes that a remote change had replaced.
	Strays []Stray
	// Sends are the requests whose outcome is not known.
	Sends []Send
	// BaseCount is how many memories base has in all.
	BaseCount int
	// Counted are the counted deletes that went to the store within
	// DeleteWindow, oldest first.
	Counted []Delete
}

// Stray is a text written through a handle to a file that a remote change had
// replaced under it (R7).
type Stray struct {
	Ino      Ino
	Gen      uint64
	MemoryID string
	Path     string
	SHA      store.SHA
	Written  time.Time
}

// Op is the kind of a send.
type Op uint8

// The requests that change a store.
const (
	OpCreate Op = iota + 1
	OpUpdate
	OpDelete
)

// Send is a request that goes to the store: what it will have made true if it
// is applied.
type Send struct {
	// Seq is given by BeginSend.
	Seq uint64
	Op  Op
	// ID is the memory's; "" for a create.
	ID string
	// Path and SHA are the memory's after the request; zero for a delete.
	Path string
	SHA  store.SHA
	// Ino is the file that was sent; 0 for a delete.
	Ino Ino
	At  time.Time
	// Missed is when the store was first seen without what it makes; zero if it
	// was not looked at since. It is not kept with the send.
	Missed time.Time
	// Counted has BeginSend count a delete as one of many (Snapshot.Counted);
	// it is not kept with the send.
	Counted bool
}

// Place says what a remote change does to the tree.
type Place uint8

// What Apply does to the tree.
const (
	// KeepTree moves base only.
	KeepTree Place = iota
	// PutFile gives Base.Path a new inode with the memory's content; the file
	// that stood there, or that carried the memory elsewhere (Apply.Ino), is
	// replaced and keeps its bytes for those who have it open.
	PutFile
	// MoveFile moves Apply.Ino to Base.Path, content and inode kept.
	MoveFile
	// DropFile removes Apply.Ino.
	DropFile
)

// Apply is one step of a change coming from the store, or of settling what was
// sent: base moves, and the tree with it.
type Apply struct {
	Place Place
	// ID is the memory concerned.
	ID string
	// Base is the memory's new base; nil when the memory is no more.
	Base *Base
	// Ino and Gen name the file that the decision was made about; Gen 0 means
	// whatever its state. Ino 0: no file.
	Ino Ino
	Gen uint64
	// Loser keeps the file's present text in the conflict area before it is
	// replaced or dropped; nil when nothing is lost.
	Loser *Loser
}

// Loser says why a text is kept in the conflict area.
type Loser struct {
	// Reason is a short word for people and machines: "edit", "create",
	// "delete", "path", "stray".
	Reason string
	// Remote is the hash that won; zero when the store has nothing there.
	Remote store.SHA
	// BaseSHA is what both had last agreed on; zero for a create.
	BaseSHA store.SHA
}
