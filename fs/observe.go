//go:build linux || darwin

package fs

import (
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"memfs/store/replica"
)

// Operation is one answered request of the kernel.
type Operation struct {
	// Name is the request's: lookup, read, write, rename ...
	Name string
	// Store is the id of the store that is mounted.
	Store string
	// Took is how long the answer took.
	Took time.Duration
	// Errno is 0 where it succeeded.
	Errno syscall.Errno
	// Bytes is how much was read or written.
	Bytes int

	f    *filesystem
	node uint64
	name string
}

// Path is where in the store it took place, as far as it can still be told.
// It costs a look at the tree.
func (o Operation) Path() string { return o.f.path(replica.Ino(o.node), o.name) }

// observe puts an observer before a filesystem; none costs nothing.
func observe(f *filesystem, observer func(Operation)) fuse.RawFileSystem {
	if observer == nil {
		return f
	}
	return &observed{filesystem: f, observer: observer, epoch: time.Now()}
}

// observed tells of every request that a filesystem answers. Those with which
// the kernel only asks what is not served are left out.
type observed struct {
	*filesystem
	observer func(Operation)
	epoch    time.Time // what the clock counts from: time.Since reads one clock, time.Now two
}

// request is one that is being answered.
type request struct {
	o        *observed
	op, name string
	node     uint64
	began    time.Duration
}

// begin starts the clock of one request.
func (o *observed) begin(op string, header *fuse.InHeader, name string) request {
	return request{o, op, name, header.NodeId, time.Since(o.epoch)}
}

// end tells of the answer.
func (r request) end(answer fuse.Status, bytes int) {
	r.o.observer(Operation{Name: r.op, Store: r.o.storeID, Took: time.Since(r.o.epoch) - r.began, Errno: syscall.Errno(answer), Bytes: bytes,
		f: r.o.filesystem, node: r.node, name: r.name})
}

func (o *observed) Lookup(c <-chan struct{}, header *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	request := o.begin("lookup", header, name)
	answer := o.filesystem.Lookup(c, header, name, out)
	if answer == fuse.OK && out.NodeId == 0 { // a name that the kernel may remember not to be there
		request.end(fuse.ENOENT, 0)
	} else {
		request.end(answer, 0)
	}
	return answer
}

func (o *observed) GetAttr(c <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	request := o.begin("getattr", &in.InHeader, "")
	answer := o.filesystem.GetAttr(c, in, out)
	request.end(answer, 0)
	return answer
}

func (o *observed) SetAttr(c <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	request := o.begin("setattr", &in.InHeader, "")
	answer := o.filesystem.SetAttr(c, in, out)
	request.end(answer, 0)
	return answer
}

func (o *observed) Statx(c <-chan struct{}, in *fuse.StatxIn, out *fuse.StatxOut) fuse.Status {
	request := o.begin("statx", &in.InHeader, "")
	answer := o.filesystem.Statx(c, in, out)
	request.end(answer, 0)
	return answer
}

func (o *observed) Create(c <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	request := o.begin("create", &in.InHeader, name)
	answer := o.filesystem.Create(c, in, name, out)
	request.end(answer, 0)
	return answer
}

func (o *observed) Mknod(c <-chan struct{}, in *fuse.MknodIn, name string, out *fuse.EntryOut) fuse.Status {
	request := o.begin("mknod", &in.InHeader, name)
	answer := o.filesystem.Mknod(c, in, name, out)
	request.end(answer, 0)
	return answer
}

func (o *observed) Mkdir(c <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	request := o.begin("mkdir", &in.InHeader, name)
	answer := o.filesystem.Mkdir(c, in, name, out)
	request.end(answer, 0)
	return answer
}

func (o *observed) Symlink(c <-chan struct{}, header *fuse.InHeader, target, name string, out *fuse.EntryOut) fuse.Status {
	request := o.begin("symlink", header, name)
	answer := o.filesystem.Symlink(c, header, target, name, out)
	request.end(answer, 0)
	return answer
}

func (o *observed) Link(c <-chan struct{}, in *fuse.LinkIn, name string, out *fuse.EntryOut) fuse.Status {
	request := o.begin("link", &in.InHeader, name)
	answer := o.filesystem.Link(c, in, name, out)
	request.end(answer, 0)
	return answer
}

func (o *observed) Unlink(c <-chan struct{}, header *fuse.InHeader, name string) fuse.Status {
	request := o.begin("unlink", header, name)
	answer := o.filesystem.Unlink(c, header, name)
	request.end(answer, 0)
	return answer
}

func (o *observed) Rmdir(c <-chan struct{}, header *fuse.InHeader, name string) fuse.Status {
	request := o.begin("rmdir", header, name)
	answer := o.filesystem.Rmdir(c, header, name)
	request.end(answer, 0)
	return answer
}

func (o *observed) Rename(c <-chan struct{}, in *fuse.RenameIn, name, newName string) fuse.Status {
	request := o.begin("rename", &in.InHeader, name)
	answer := o.filesystem.Rename(c, in, name, newName)
	request.end(answer, 0)
	return answer
}

func (o *observed) Read(c <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	request := o.begin("read", &in.InHeader, "")
	result, answer := o.filesystem.Read(c, in, buf)
	n := 0
	if result != nil {
		n = result.Size()
	}
	request.end(answer, n)
	return result, answer
}

func (o *observed) Write(c <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	request := o.begin("write", &in.InHeader, "")
	n, answer := o.filesystem.Write(c, in, data)
	request.end(answer, int(n))
	return n, answer
}

func (o *observed) Fsync(c <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	request := o.begin("fsync", &in.InHeader, "")
	answer := o.filesystem.Fsync(c, in)
	request.end(answer, 0)
	return answer
}

func (o *observed) FsyncDir(c <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	request := o.begin("fsyncdir", &in.InHeader, "")
	answer := o.filesystem.FsyncDir(c, in)
	request.end(answer, 0)
	return answer
}

func (o *observed) ReadDir(c <-chan struct{}, in *fuse.ReadIn, list *fuse.DirEntryList) fuse.Status {
	request := o.begin("readdir", &in.InHeader, "")
	answer := o.filesystem.ReadDir(c, in, list)
	request.end(answer, 0)
	return answer
}

func (o *observed) ReadDirPlus(c <-chan struct{}, in *fuse.ReadIn, list *fuse.DirEntryList) fuse.Status {
	request := o.begin("readdirplus", &in.InHeader, "")
	answer := o.filesystem.ReadDirPlus(c, in, list)
	request.end(answer, 0)
	return answer
}

func (o *observed) StatFs(c <-chan struct{}, header *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	request := o.begin("statfs", header, "")
	answer := o.filesystem.StatFs(c, header, out)
	request.end(answer, 0)
	return answer
}

func (o *observed) GetXAttr(c <-chan struct{}, header *fuse.InHeader, attr string, dest []byte) (uint32, fuse.Status) {
	request := o.begin("getxattr", header, "")
	n, answer := o.filesystem.GetXAttr(c, header, attr, dest)
	request.end(answer, 0)
	return n, answer
}

func (o *observed) ListXAttr(c <-chan struct{}, header *fuse.InHeader, dest []byte) (uint32, fuse.Status) {
	request := o.begin("listxattr", header, "")
	n, answer := o.filesystem.ListXAttr(c, header, dest)
	request.end(answer, 0)
	return n, answer
}
