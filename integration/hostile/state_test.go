//go:build linux

package hostile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"memfs/store"
)

// killed leaves a state directory with unsent edits of a memfs that was killed.
func killed(t *testing.T) *host {
	t.Helper()
	h := newHost(t)
	p, ok := h.mount("--sync-interval=1h")
	require.True(t, ok, h.log())
	h.write(minePath, mineText)
	h.write("second.md", "the second\n")
	require.NoError(t, unix.Access(h.at(honestPath), unix.R_OK))
	p.kill()
	return h
}

// files are the regular files of the state directory.
func (h *host) files() []string {
	h.t.Helper()
	var all []string
	require.NoError(h.t, filepath.WalkDir(h.path("state"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			all = append(all, path)
		}
		return err
	}))
	return all
}

// journal is the largest file of the replica's journal.
func (h *host) journal() string {
	h.t.Helper()
	found := ""
	for _, path := range h.files() {
		if strings.Contains(path, "journal") {
			found = path
		}
	}
	require.NotEmpty(h.t, found, "%q", h.files())
	return found
}

// starts requires that memfs either mounts, or ends with a reason; it hangs in
// neither case, and leaves no mount when it is over.
func (h *host) starts() (came bool, code int) {
	h.t.Helper()
	p, came := h.mount()
	if came {
		p.look()
		if _, err := os.Stat(h.at(store.MarkerName)); err == nil { // else nothing is pulled (R13)
			_, err := os.ReadFile(h.at(honestPath))
			assert.NoError(h.t, err)
		}
		return true, p.stop()
	}
	p.h.clean(h.log())
	assert.Contains(h.t, h.log(), "memfs: ", "it says why")
	for h.mounts() > 0 { // of the one that was killed
		require.NoError(h.t, unix.Unmount(h.mnt, unix.MNT_DETACH))
	}
	return false, p.cmd.ProcessState.ExitCode()
}

// R18: a state directory that is not as memfs made it is refused, and nothing
// that it leads to is touched.
func TestR18_HostileStateDirectory(t *testing.T) {
	victimText := "theirs, and not to be touched\n"
	for name, prepare := range map[string]func(t *testing.T, state, victim string){
		"a link": func(t *testing.T, state, victim string) { require.NoError(t, os.Symlink(victim, state)) },
		"a file": func(t *testing.T, state, victim string) { require.NoError(t, os.WriteFile(state, nil, 0o600)) },
		"a fifo": func(t *testing.T, state, victim string) { require.NoError(t, unix.Mkfifo(state, 0o600)) },
		"open to all": func(t *testing.T, state, victim string) {
			require.NoError(t, os.Mkdir(state, 0o700))
			require.NoError(t, os.Chmod(state, 0o777))
		},
		"another's": func(t *testing.T, state, victim string) {
			require.NoError(t, os.Mkdir(state, 0o700))
			if os.Chown(state, 65534, 65534) != nil {
				t.Skip("only root can give files away")
			}
		},
		"links in it": func(t *testing.T, state, victim string) {
			require.NoError(t, os.Mkdir(state, 0o700))
			for _, area := range []string{"replicas", "conflicts", "mountpoints"} {
				require.NoError(t, os.Symlink(victim, filepath.Join(state, area)))
			}
		},
		"fifos in it": func(t *testing.T, state, victim string) {
			require.NoError(t, os.Mkdir(state, 0o700))
			for _, area := range []string{"replicas", "conflicts", "mountpoints"} {
				require.NoError(t, unix.Mkfifo(filepath.Join(state, area), 0o600))
			}
		},
		"locks that are fifos": func(t *testing.T, state, victim string) {
			require.NoError(t, os.MkdirAll(filepath.Join(state, "mountpoints"), 0o700))
			require.NoError(t, unix.Mkfifo(filepath.Join(state, "mountpoints", "lock"), 0o600))
		},
		"locks that are links": func(t *testing.T, state, victim string) {
			require.NoError(t, os.MkdirAll(filepath.Join(state, "mountpoints"), 0o700))
			require.NoError(t, os.Symlink(filepath.Join(victim, "file"), filepath.Join(state, "mountpoints", "lock")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			victim := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(victim, "file"), []byte(victimText), 0o600))
			prepare(t, h.path("state"), victim)
			came, code := h.starts()
			assert.False(t, came, "it was used")
			assert.NotZero(t, code)
			for _, args := range [][]string{{"conflicts"}, {"recover"}, {"recover", "drop", "--all", "--yes"}, {"conflicts", "drop", "--all", "--yes"}} {
				r := h.run(args...)
				h.printable(r.stderr)
			}
			entries, err := os.ReadDir(victim)
			require.NoError(t, err)
			assert.Len(t, entries, 1, "something was put where a link leads to")
			text, err := os.ReadFile(filepath.Join(victim, "file"))
			require.NoError(t, err)
			assert.Equal(t, victimText, string(text))
		})
	}
}

// R16: whatever a file of the state directory is replaced by, memfs starts or
// says why not, and follows no link.
func TestR16_HostileStateFiles(t *testing.T) {
	for name, replace := range map[string]func(file, victim string) error{
		"a link":        func(file, victim string) error { return os.Symlink(victim, file) },
		"a hard link":   func(file, victim string) error { return os.Link(victim, file) },
		"a fifo":        func(file, victim string) error { return unix.Mkfifo(file, 0o600) },
		"a directory":   func(file, victim string) error { return os.Mkdir(file, 0o700) },
		"nothing":       func(file, victim string) error { return nil },
		"an empty file": func(file, victim string) error { return os.WriteFile(file, nil, 0o600) },
		"zeros":         func(file, victim string) error { return os.WriteFile(file, make([]byte, 4096), 0o600) },
		"a huge hole": func(file, victim string) error {
			return errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, 1<<40))
		},
		"an endless one": func(file, victim string) error { return os.Symlink("/dev/zero", file) },
	} {
		t.Run(name, func(t *testing.T) {
			h := killed(t)
			victim := h.path("home")
			require.NoError(t, os.WriteFile(victim, []byte("theirs"), 0o600))
			for _, file := range h.files() {
				require.NoError(t, os.Remove(file))
				require.NoError(t, replace(file, victim))
			}
			h.starts()
			r := h.run("recover")
			h.printable(r.stderr + r.stdout)
			text, err := os.ReadFile(victim)
			require.NoError(t, err)
			assert.Equal(t, "theirs", string(text))
			require.NoError(t, os.Remove(victim))
			h.nothingElse()
		})
	}
}

// R16: a journal that is damaged anywhere starts, as far as it is good, or is
// refused; what it claims to hold takes no memory.
func TestR16_DamagedJournal(t *testing.T) {
	pick := rand.New(rand.NewPCG(16, 16))
	for range 8 {
		h := killed(t)
		file := h.journal()
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		at := pick.IntN(len(bytes.TrimRight(text, "\x00"))) // the rest is room
		damage := "\xff\xff\xff\xff\xff\xff\xff\x7f"
		copy(text[at:], damage)
		require.NoError(t, os.WriteFile(file, text, 0o600))
		came, _ := h.starts()
		t.Logf("damaged at %d of %d: came up %v", at, len(text), came)
		assert.Equal(t, honestText, h.remote()[honestPath])
		for path, remote := range h.remote() {
			// Behind the damage nothing counts: a file may have been made and not
			// written yet, but nothing else than what was.
			want, known := map[string]string{honestPath: honestText, minePath: mineText, "/second.md": "the second\n"}[path]
			made := path != honestPath && remote == ""
			assert.True(t, known && (want == remote || made), "%s holds %q", path, remote)
		}
		h.nothingElse()
	}
}

// R18: the state of one store is not taken for another's, nor of one API.
func TestR18_SwappedReplicas(t *testing.T) {
	h := killed(t)
	dirs, err := filepath.Glob(h.path("state", "replicas", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, dirs)
	mine := h.store
	h.store = h.newStore("another")
	other := *h
	p, ok := other.start("mount", h.store+":"+h.path("mnt"), "--sync-interval=1h") // over the dead mount
	require.True(t, ok, h.log())
	p.kill()
	all, err := filepath.Glob(h.path("state", "replicas", "*"))
	require.NoError(t, err)
	var theirs string
	for _, dir := range all {
		info, err := os.Stat(dir)
		require.NoError(t, err)
		if dir != dirs[0] && info.IsDir() {
			theirs = dir
		}
	}
	require.NotEmpty(t, theirs, "%q", all)
	require.NoError(t, os.Rename(theirs, theirs+".away"))
	require.NoError(t, os.Rename(dirs[0], theirs))
	h.starts()
	assert.Empty(t, h.remote(), "edits of store %s went to another", mine)
}

// R1: a forged record of a mount point removes and unmounts nothing.
func TestR1_ForgedMountPoints(t *testing.T) {
	for _, made := range [][]string{{"/"}, {"/home"}, {"/home", "/home/x"}, {".."}, {""}} {
		h := newHost(t)
		empty := h.path("work")
		require.NoError(t, os.Mkdir(empty, 0o755))
		p, ok := h.mount()
		require.True(t, ok, h.log())
		require.Zero(t, p.stop())
		for _, path := range []string{h.mnt, "/", "/home", empty + "/gone"} {
			text, err := json.Marshal(object{"path": path, "made": append(made, empty)})
			require.NoError(t, err)
			sum := sha256.Sum256([]byte(path))
			require.NoError(t, os.WriteFile(h.path("state", "mountpoints", hex.EncodeToString(sum[:12])+".json"), text, 0o600))
		}
		p, ok = h.mount()
		require.True(t, ok, h.log())
		h.write(minePath, mineText)
		h.safe(p)
		for _, dir := range []string{"/", "/home", empty} {
			if _, err := os.Stat(dir); dir == empty {
				assert.NoError(t, err)
			}
		}
	}
}

// R18: a state directory inside a mount is refused, however it is named.
func TestR18_StateInsideAMount(t *testing.T) {
	h, p := mounted(t)
	link := h.path("home")
	require.NoError(t, os.Symlink(h.mnt, link))
	for _, state := range []string{h.at("state"), link, filepath.Join(link, "x", "..", "state"), "/proc/self/cwd/mnt/x"} {
		r := h.run("mount", h.store+":"+h.path("work"), "--state-dir", state)
		assert.Equal(t, 2, r.code, r.stderr)
		h.printable(r.stderr)
	}
	require.NoError(t, os.Remove(link))
	h.safe(p)
}
