//go:build linux

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// shape is a set of files.
type shape struct {
	files, dirs, size int
}

// usual is what the targets are about.
var usual = shape{files: 2000, dirs: 50, size: 4096}

// name is the path of file i, without a slash before it.
func (s shape) name(i int) string {
	if s.dirs == 0 {
		return fmt.Sprintf("note-%05d.md", i)
	}
	return fmt.Sprintf("topic-%02d/note-%05d.md", i%s.dirs, i)
}

// text is the content of file i, like no other's.
func (s shape) text(i int) []byte { return text(uint64(i), s.size) }

func text(seed uint64, size int) []byte {
	letters := rand.New(rand.NewPCG(seed, 1))
	var b bytes.Buffer
	for b.Len() < size {
		word := make([]byte, 2+letters.IntN(8))
		for i := range word {
			word[i] = 'a' + byte(letters.IntN(26))
		}
		b.Write(word)
		b.WriteByte(" \n"[letters.IntN(12)/11])
	}
	return b.Bytes()[:size]
}

// write makes the files in a directory.
func (s shape) write(dir string) error {
	for i := range s.files {
		path := filepath.Join(dir, s.name(i))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, s.text(i), 0o600); err != nil {
			return err
		}
	}
	return nil
}
