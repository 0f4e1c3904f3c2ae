package worker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"memfs/cmd/memfs/internal/worker/toolbox"
)

// sessionsDir holds the directories of sessions in a working directory.
const sessionsDir = "sessions"

// OwnDirectory makes the directory of a session in workdir, where sessions do
// not share it: user's, or this process's, and nobody else's. One that the
// session left when it was served before is taken again. It follows no link out
// of workdir. What remains in it at the end is the session's, or who looks after
// the host's: leave removes an empty one alone.
func OwnDirectory(workdir, session string, user *toolbox.User) (dir string, leave func(), err error) {
	if session == "" || session == "." || session == ".." || filepath.Base(session) != session {
		return "", nil, fmt.Errorf("session id %q cannot name a directory", session)
	}
	root, err := os.OpenRoot(workdir)
	if err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	own := filepath.Join(sessionsDir, session)
	if err := root.Mkdir(sessionsDir, 0o711); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", nil, err
	}
	err = root.Mkdir(own, 0o700)
	switch {
	case err == nil && user != nil:
		err = root.Lchown(own, int(user.UID), int(user.GID))
	case errors.Is(err, fs.ErrExist):
		var info fs.FileInfo
		if info, err = root.Lstat(own); err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is no directory", filepath.Join(workdir, own))
		}
	}
	if err != nil {
		return "", nil, err
	}
	dir = filepath.Join(workdir, own)
	return dir, func() {
		_ = os.Remove(dir)
		_ = os.Remove(filepath.Dir(dir))
	}, nil
}
