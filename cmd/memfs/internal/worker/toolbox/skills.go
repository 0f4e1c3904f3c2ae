package toolbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// skills are the directories of skills that were put into a workdir.
type skills []string

// installSkills copies each directory in from to a "skills" directory in
// workdir, in place of one that has its name.
func installSkills(from, workdir string) (skills, error) {
	if from == "" {
		return nil, nil
	}
	found, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("skills: %w", err)
	}
	var made skills
	for _, skill := range found {
		to := filepath.Join(workdir, "skills", skill.Name())
		err := os.RemoveAll(to)
		if err == nil {
			made = append(made, to)
			err = os.CopyFS(to, os.DirFS(filepath.Join(from, skill.Name())))
		}
		if err != nil {
			return made, fmt.Errorf("skills: %w", err)
		}
	}
	return made, nil
}

// remove takes them away again, so that no session sees another's.
func (s skills) remove() {
	for _, dir := range s {
		_ = os.RemoveAll(dir)
	}
}
