//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// shape is a set of memories, or files.
type shape struct {
	count int
	dirs  int // 0: all at the root
	size  int // of each, in bytes
	// big is how many of the first are in a directory of their own.
	big int
}

// How large the shapes are.
const (
	fileSize   = 4096
	memorySize = 1024
	// moved is how many files the directory has that is renamed.
	moved = 500
)

func (s shape) String() string {
	if s.dirs == 0 {
		return fmt.Sprintf("%d flat", s.count)
	}
	return fmt.Sprintf("%d in %d directories", s.count, s.dirs)
}

// path is that of memory i.
func (s shape) path(i int) string {
	switch {
	case i < s.big:
		return fmt.Sprintf("/big/note-%05d.md", i)
	case s.dirs == 0:
		return fmt.Sprintf("/note-%05d.md", i)
	}
	return fmt.Sprintf("/topic-%02d/note-%05d.md", i%s.dirs, i)
}

// text is the content of memory i, like no other's.
func (s shape) text(i, edition int) []byte { return text(i, edition, s.size) }

func text(i, edition, size int) []byte {
	letters := rand.New(rand.NewPCG(uint64(i), uint64(edition)))
	b := make([]byte, size)
	for at := range b {
		b[at] = 'a' + byte(letters.IntN(26))
		switch {
		case at%64 == 63:
			b[at] = '\n'
		case at%6 == 5:
			b[at] = ' '
		}
	}
	return b
}

// write makes the files in a directory.
func (s shape) write(dir string) error {
	for i := range s.count {
		path := filepath.Join(dir, s.path(i))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, s.text(i, 0), 0o600); err != nil {
			return err
		}
	}
	return nil
}
