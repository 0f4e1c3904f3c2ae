//go:build linux

package fs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"memfs/store"
	"memfs/store/replica"
)

// childEnv makes the test binary a child, which reads its config as the first
// line of its input.
const childEnv = "MEMFS_FS_TEST_CHILD"

const testStore = "memstore_01test"

type childConfig struct {
	Path   string
	State  string
	Files  map[string]string // what the store has
	Strict bool
	Others bool
	// Owner is the user and group of what the store brings, 0 this process's,
	// and Umask what it may not.
	Owner, Umask uint32
	// Unfetched leaves the contents in the store, which answers only after the
	// order "answer".
	Unfetched bool
}

// order is a line to the child, reply the line that it answers with.
type order struct {
	Do      string
	Path    string
	Text    string
	To      string
	Timeout time.Duration
}

type reply struct {
	Err        string
	Busy       []Holder
	Counts     map[string]int
	Goroutines int
	Panics     int64
}

// child is a process with one mount.
type child struct {
	tree  *countingTree
	mount *Mounted

	mu       sync.Mutex
	contents map[store.SHA]string
	answer   chan struct{}
	versions int
}

func childMain() int {
	if err := runChild(json.NewDecoder(os.Stdin)); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		return 1
	}
	return 0
}

func runChild(in *json.Decoder) error {
	var c childConfig
	if err := in.Decode(&c); err != nil {
		return err
	}
	log, err := zap.NewDevelopment()
	if err != nil {
		return err
	}
	ch := &child{contents: map[store.SHA]string{}, answer: make(chan struct{})}
	if !c.Unfetched {
		close(ch.answer)
	}
	uid, gid := replica.Owner()
	if c.Owner != 0 {
		uid, gid = c.Owner, c.Owner
	}
	tree, err := replica.Open(replica.Options{
		Dir: c.State, Store: store.Info{ID: testStore, Name: "test"}, Endpoint: "test", MountPath: c.Path,
		Fetch: ch.fetch, Log: log, UID: uid, GID: gid, FileMode: 0o644 &^ c.Umask, DirMode: 0o755 &^ c.Umask,
	})
	if err != nil {
		return err
	}
	ch.tree = &countingTree{Tree: tree, counts: map[string]int{}}
	for path, text := range c.Files {
		if err := ch.put(tree, path, text); err != nil {
			return err
		}
	}
	ch.mount, err = Mount(Options{Replica: ch.tree, Path: c.Path, StoreID: testStore, Strict: c.Strict, AllowOther: c.Others, Log: log})
	if err != nil {
		return errors.Join(err, tree.Close())
	}
	orders := make(chan order)
	go func() {
		defer close(orders)
		for {
			var o order
			if in.Decode(&o) != nil {
				return
			}
			orders <- o
		}
	}()
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(reply{}); err != nil {
		return err
	}
	unmounted := ch.mount.Done()
	for {
		select {
		case <-unmounted:
			fmt.Fprintln(os.Stderr, "child: unmounted")
			unmounted = nil
		case o, more := <-orders:
			if !more {
				ctx, cancel := context.WithTimeout(context.Background(), soon)
				defer cancel()
				return errors.Join(ch.mount.Unmount(ctx), tree.Close())
			}
			if err := out.Encode(ch.do(tree, o)); err != nil {
				return err
			}
		}
	}
}

func (ch *child) do(tree *replica.Replica, cmd order) (r reply) {
	var err error
	switch cmd.Do {
	case "put":
		err = ch.put(tree, cmd.Path, cmd.Text)
	case "drop":
		err = apply(tree, func(b replica.Base, f *replica.File) replica.Apply {
			return replica.Apply{Place: replica.DropFile, ID: b.ID, Ino: f.Ino}
		}, cmd.Path)
	case "move":
		err = apply(tree, func(b replica.Base, f *replica.File) replica.Apply {
			b.Path = cmd.To
			return replica.Apply{Place: replica.MoveFile, ID: b.ID, Base: &b, Ino: f.Ino}
		}, cmd.Path)
	case "storm":
		// Changes that go on until the child ends.
		go func() {
			for i := 0; ch.put(tree, cmd.Path, fmt.Sprint("version ", i)) == nil; i++ {
			}
		}()
	case "answer":
		close(ch.answer)
	case "counts":
		r.Counts = ch.tree.take()
	case "goroutines":
		// Goroutines that just answered may be on their way out.
		for range 50 {
			if r.Goroutines = runtime.NumGoroutine(); r.Goroutines < 15 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	case "panics":
		r.Panics = ch.mount.Panics()
	case "abandon":
		// A change that the kernel never hears of.
		<-ch.mount.notifier.disarm()
	case "unmount":
		ctx, cancel := context.WithTimeout(context.Background(), cmd.Timeout)
		defer cancel()
		err = ch.mount.Unmount(ctx)
		if busy := (*BusyError)(nil); errors.As(err, &busy) {
			r.Busy = busy.Holders
		}
	case "await":
		select {
		case <-ch.mount.Done():
		case <-time.After(cmd.Timeout):
			err = errors.New("still served")
		}
	case "detached":
		select {
		case <-ch.mount.Detached():
		case <-time.After(cmd.Timeout):
			err = errors.New("still in its place")
		}
	case "mount again":
		_, err = Mount(Options{Replica: ch.tree, Path: cmd.Path, StoreID: "memstore_2"})
	default:
		err = fmt.Errorf("unknown command %q", cmd.Do)
	}
	if err != nil {
		r.Err = err.Error()
	}
	return r
}

// put makes text the memory's content in the store and has it arrive here.
func (ch *child) put(tree *replica.Replica, path, text string) error {
	sha := store.Hash([]byte(text))
	ch.mu.Lock()
	ch.contents[sha] = text
	ch.versions++
	version := fmt.Sprintf("memver_%d", ch.versions)
	ch.mu.Unlock()
	now := time.Now()
	b := replica.Base{ID: "mem_" + strings.ReplaceAll(path, "/", "_"), VersionID: version, Path: path, SHA: sha,
		Size: int64(len(text)), CreatedAt: now, UpdatedAt: now}
	step := replica.Apply{Place: replica.PutFile, ID: b.ID, Base: &b}
	if old := tree.Snapshot(nil, []string{path}).Paths[path]; old.File != nil {
		step.Ino = old.File.Ino
	}
	return applyOne(tree, step)
}

func apply(tree *replica.Replica, step func(replica.Base, *replica.File) replica.Apply, path string) error {
	b, ok := tree.BaseAt(path)
	file := tree.Snapshot(nil, []string{path}).Paths[path].File
	if !ok || file == nil {
		return fmt.Errorf("nothing at %s", path)
	}
	return applyOne(tree, step(b, file))
}

func applyOne(tree *replica.Replica, step replica.Apply) error {
	applied, err := tree.Apply([]replica.Apply{step})
	if err == nil && !applied[0] {
		err = errors.New("not applied")
	}
	return err
}

func (ch *child) fetch(ctx context.Context, _, _ string, want store.SHA) ([]byte, error) {
	select {
	case <-ch.answer:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ch.mu.Lock()
	defer ch.mu.Unlock()
	return []byte(ch.contents[want]), nil
}

// countingTree counts the kernel's questions and panics over some names.
type countingTree struct {
	Tree
	mu     sync.Mutex
	counts map[string]int
}

func (c *countingTree) count(op string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[op]++
}

func (c *countingTree) take() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.counts
	c.counts = map[string]int{}
	return taken
}

func (c *countingTree) Lookup(parent replica.Ino, name string) (replica.Attr, error) {
	c.count("lookup")
	if name == "panic" {
		panic("a fault of memfs")
	}
	return c.Tree.Lookup(parent, name)
}

func (c *countingTree) Getattr(ino replica.Ino) (replica.Attr, error) {
	c.count("getattr")
	return c.Tree.Getattr(ino)
}

func (c *countingTree) Setattr(ctx context.Context, ino replica.Ino, s replica.SetAttr) (replica.Attr, error) {
	c.count("setattr")
	return c.Tree.Setattr(ctx, ino, s)
}

func (c *countingTree) ReadDir(ino replica.Ino, after uint64, max int) ([]replica.Dirent, error) {
	c.count("readdir")
	return c.Tree.ReadDir(ino, after, max)
}

func (c *countingTree) Read(ctx context.Context, ino replica.Ino, p []byte, off int64) (int, error) {
	c.count("read")
	if len(p) == os.Getpagesize() {
		c.count("page")
	}
	n, err := c.Tree.Read(ctx, ino, p, off)
	if bytes.Contains(p[:n], []byte("panic when read")) {
		panic("a fault of memfs")
	}
	return n, err
}
