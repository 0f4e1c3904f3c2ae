package mountpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
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
	return fmt.Sprintf("cannot create the memory directory %s: %v; make its parent writable for this user, for example: mkdir -p %s && chown \"$USER\" %s",
		e.Path, e.Err, filepath.Dir(e.Path), filepath.Dir(e.Path))
}

func (e *ParentError) Unwrap() error { return e.Err }

// Point is a directory that is ready to be mounted on.
type Point struct {
	state *disk.Dir
	made  []string // outermost first
	path  string
}

// record is what stands in the state directory while a mount point does.
type record struct {
	Path string   `json:"path"`
	Made []string `json:"made"`
}

// Take makes the directory at path, and its parents where they are missing.
// What memfs left there, it takes again. An empty directory of somebody else's
// is used, and left there at the end, if acceptEmpty is set; anything else that
// stands there is a *TakenError and is not touched. A dead mount must have been
// detached before.
func Take(stateDir, path string, acceptEmpty bool) (*Point, error) {
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
	if err := p.take(acceptEmpty); err != nil {
		state.Close()
		return nil, err
	}
	return p, nil
}

// Path is where to mount.
func (p *Point) Path() string { return p.path }

func (p *Point) take(acceptEmpty bool) error {
	left, err := p.leftover()
	if err != nil {
		return err
	}
	info, err := os.Lstat(p.path)
	switch {
	case err == nil:
		ours := slices.Contains(left.Made, p.path)
		if !isEmptyDir(p.path, info) || !ours && !acceptEmpty {
			return taken(p.path, info)
		}
		p.made = left.Made
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return &ParentError{Path: p.path, Err: err}
	}
	p.made = append(existing(left.Made), missing(p.path)...)
	if err := p.remember(); err != nil {
		return err
	}
	for _, dir := range missing(p.path) {
		mode := fs.FileMode(parentMode)
		if dir == p.path {
			mode = pointMode
		}
		if err := makeDir(dir, mode); err != nil {
			return errors.Join(&ParentError{Path: p.path, Err: err}, p.removeDirs(), p.forget())
		}
	}
	return nil
}

// Remove takes away what Take made, innermost first; a directory that somebody
// put something into stays.
func (p *Point) Remove() error {
	defer p.state.Close()
	return errors.Join(p.removeDirs(), p.forget())
}

func (p *Point) removeDirs() error {
	for _, dir := range slices.Backward(p.made) {
		err := os.Remove(dir)
		switch {
		case err == nil || errors.Is(err, fs.ErrNotExist):
		case errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST):
			return nil // shared by now, or written to underneath
		default:
			return fmt.Errorf("remove mount point: %w", err)
		}
	}
	return nil
}

func (p *Point) name() string {
	sum := sha256.Sum256([]byte(p.path))
	return hex.EncodeToString(sum[:12]) + ".json"
}

func (p *Point) leftover() (record, error) {
	text, err := p.state.ReadFile(label, p.name(), maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, nil
	}
	if err != nil {
		return record{}, err
	}
	var r record
	if json.Unmarshal(text, &r) != nil || r.Path != p.path {
		return record{}, nil // not understood: nothing is known to be ours
	}
	return r, nil
}

func (p *Point) remember() error {
	text, err := json.Marshal(record{Path: p.path, Made: p.made})
	if err != nil {
		return err
	}
	return p.state.WriteFile(label, p.name(), text, true)
}

func (p *Point) forget() error {
	err := p.state.Remove(label, p.name())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// makeDir makes one directory with exactly this mode, whatever the umask.
func makeDir(path string, mode fs.FileMode) error {
	err := os.Mkdir(path, mode)
	if errors.Is(err, fs.ErrExist) && mode == parentMode {
		return nil // made by another session meanwhile
	}
	if err != nil {
		return err
	}
	return os.Chmod(path, mode)
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

func isEmptyDir(path string, info fs.FileInfo) bool {
	if !info.IsDir() {
		return false
	}
	entries, err := os.ReadDir(path)
	return err == nil && len(entries) == 0
}
