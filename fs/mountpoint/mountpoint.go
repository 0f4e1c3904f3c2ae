package mountpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"memfs/store/replica/disk"
)

const (
	area  = "mountpoints"
	label = "mountpoint"
	// maxRecord is over what any record takes, in bytes.
	maxRecord = 64 << 10
	// Parents can be passed by other users, the mount point itself cannot.
	parentMode = 0o755
	pointMode  = 0o700
)

// TakenError says that something stands at a mount path that memfs did not
// leave there (R1).
type TakenError struct {
	Path string
	// What stands there, in a word or two.
	What  string
	Owner string
	Age   time.Duration
}

func (e *TakenError) Error() string {
	return fmt.Sprintf("%s already exists (%s, owned by %s, changed %s ago) and memfs did not leave it there; remove it or choose another path",
		e.Path, e.What, e.Owner, e.Age.Round(time.Second))
}

// ParentError says that a mount point cannot be made.
type ParentError struct {
	Path string
	Err  error
}

func (e *ParentError) Error() string {
	return fmt.Sprintf("cannot create the memory directory %s: %v; %s", e.Path, e.Err, e.remedy())
}

// remedy never changes the owner of a directory that is there for others.
func (e *ParentError) remedy() string {
	parent := filepath.Dir(e.Path)
	if _, err := os.Lstat(parent); parent == defaultParent || errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("have its parent made for this user: sudo mkdir -p %s && sudo chown \"$USER\" %s", parent, parent)
	}
	return "choose a path in a directory that this user may write to"
}

// defaultParent is where stores are mounted unless something else is said.
const defaultParent = "/mnt/memory"

func (e *ParentError) Unwrap() error { return e.Err }

// Point is a directory that is ready to be mounted on.
type Point struct {
	state *disk.Dir
	made  []string // outermost first
	path  string
	// cleared and below: see record.Cleared and Below.
	cleared bool
	below   []string
	// used is held while the directory is used; useName is its file.
	used    *disk.Lock
	useName string
}

// Take makes the directory at path, and its parents where they are missing.
// What memfs left there, it takes again. An empty directory of somebody else's
// is used, and left there at the end, if acceptEmpty is set; anything else that
// stands there is a *TakenError and is not touched; a live memfs mount, of
// whatever state directory, is fs.ErrMounted. A dead mount must have been taken
// away before, by Clear: what came into memfs's own directory after that is no
// reason to refuse it, and stays there (Below).
func Take(stateDir, path string, acceptEmpty bool) (*Point, error) {
	path = resolved(path)
	if err := checkLive(path); err != nil {
		return nil, err
	}
	top, err := disk.Open(stateDir, nil)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	state, err := top.Sub(area)
	if err != nil {
		return nil, err
	}
	p := &Point{state: state, path: path}
	err = locked(state, func() error {
		if err := p.take(acceptEmpty); err != nil {
			return err
		}
		return p.use()
	})
	if err != nil {
		state.Close()
		return nil, err
	}
	return p, nil
}

// Path is where to mount, with no symbolic link above it.
func (p *Point) Path() string { return p.path }

// Below names what lies in the directory, which a mount hides: somebody wrote
// there after a dead mount was taken away and before the next was made.
func (p *Point) Below() []string { return p.below }

func (p *Point) take(acceptEmpty bool) error {
	left, err := recall(p.state, recordName(p.path))
	if err != nil {
		return err
	}
	info, err := os.Lstat(p.path)
	switch {
	case err == nil:
		ours := slices.Contains(left.Made, p.path)
		names, readable := entries(p.path, info)
		if !readable || !ours && !acceptEmpty || len(names) > 0 && !(ours && left.Cleared) {
			return taken(p.path, info)
		}
		p.made, p.cleared, p.below = left.Made, left.Cleared, names
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return &ParentError{Path: p.path, Err: err}
	}
	made := existing(left.Made)
	for range makeTries {
		p.made = append(made, missing(p.path)...)
		if err = remember(p.state, record{Path: p.path, Made: p.made}); err != nil {
			return err
		}
		// A parent can go again while a session of another state directory ends.
		if err = makeAll(p.path); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return errors.Join(&ParentError{Path: p.path, Err: err}, p.give())
	}
	return nil
}

// makeTries is how often parents are made that vanish at the same moment.
const makeTries = 10

func makeAll(path string) error {
	for _, dir := range missing(path) {
		mode := fs.FileMode(parentMode)
		if dir == path {
			mode = pointMode
		}
		if err := makeDir(dir, mode); err != nil {
			return err
		}
	}
	return nil
}

// Remove takes away what Take made, innermost first. A parent that other mount
// points still lie in goes with the last of them that shares the state
// directory; one that somebody put something into stays.
func (p *Point) Remove() error {
	defer p.state.Close()
	return locked(p.state, func() error { return errors.Join(p.give(), removeOwed(p.state)) })
}

// give removes what the point has made, and leaves on record what it could not,
// or what somebody else uses: who took it over removes it.
func (p *Point) give() error {
	r := record{Path: p.path, Made: p.made, Cleared: p.cleared}
	unused, err := p.unused()
	switch {
	case err != nil:
		return err
	case !unused && len(p.made) > 0:
		return remember(p.state, r)
	case !unused:
		return nil
	}
	return settle(p.state, r)
}

// makeDir makes one directory with exactly this mode, whatever the umask. A link
// that is put in its place meanwhile is not followed out of the directory above.
func makeDir(path string, mode fs.FileMode) error {
	parent, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { _ = parent.Close() }()
	err = parent.Mkdir(filepath.Base(path), mode)
	if errors.Is(err, fs.ErrExist) && mode == parentMode {
		return nil // made by another session meanwhile
	}
	if err != nil {
		return err
	}
	return parent.Chmod(filepath.Base(path), mode)
}

// missing lists path and its parents as far as they do not exist, outermost
// first.
func missing(path string) []string {
	var dirs []string
	for dir := path; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); err == nil || filepath.Dir(dir) == dir {
			break
		}
		dirs = append(dirs, dir)
	}
	slices.Reverse(dirs)
	return dirs
}

func existing(dirs []string) []string {
	var out []string
	for _, dir := range dirs {
		if _, err := os.Lstat(dir); err == nil {
			out = append(out, dir)
		}
	}
	return out
}

// entries names what lies in a directory; not ok is what is none or cannot be
// looked into.
func entries(path string, info fs.FileInfo) (names []string, ok bool) {
	if !info.IsDir() {
		return nil, false
	}
	found, err := os.ReadDir(path)
	for _, entry := range found {
		names = append(names, entry.Name())
	}
	return names, err == nil
}
