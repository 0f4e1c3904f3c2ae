//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
)

// shape says where a store's memories stand.
type shape struct {
	name string
	path func(i int) string
}

// moved is how many files the directory has that is renamed.
const moved = 500

var (
	flat = shape{"flat", func(i int) string { return fmt.Sprintf("/note-%05d.md", i) }}
	deep = shape{"50 directories", func(i int) string { return fmt.Sprintf("/topic-%02d/note-%05d.md", i%50, i) }}
	// big has one directory to be renamed.
	big = shape{"directory of 500", func(i int) string {
		if i < moved {
			return fmt.Sprintf("/big/note-%05d.md", i)
		}
		return deep.path(i)
	}}
)

// text is a memory's content: 1 KB, like no other.
func text(i, edition int) []byte {
	letters := rand.New(rand.NewPCG(uint64(i), uint64(edition)))
	b := make([]byte, 1<<10)
	for at := range b {
		b[at] = 'a' + byte(letters.IntN(26))
		if at%64 == 63 {
			b[at] = '\n'
		}
	}
	return b
}
