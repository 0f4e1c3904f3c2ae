//go:build linux

package soak

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	prog "memfs/integration/program"
)

var (
	soakFor  = flag.Duration("soak.for", 20*time.Second, "how long the weather is bad")
	soakSeed = flag.Uint64("soak.seed", 0, "what is chosen; 0 takes one from the clock and prints it")
	soakKeep = flag.String("soak.keep", "", "a new directory that logs and state are left in; \"\" leaves none")
)

// program is the memfs that is soaked.
var program string

func TestMain(m *testing.M) {
	children := map[string]func() error{serverWord: serverMain, probeWord: probeMain}
	if len(os.Args) > 1 && children[os.Args[1]] != nil {
		if err := children[os.Args[1]](); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	os.Exit(prog.Run(m, func(path string) { program = path }, raceFlags...))
}

// spell is how long the weather is bad before everything is compared.
const spell = 40 * time.Second

func TestSoak(t *testing.T) {
	if *soakSeed == 0 {
		*soakSeed = uint64(time.Now().UnixNano())
	}
	t.Logf("make soak SOAK=%v SEED=%d", *soakFor, *soakSeed)
	w := newWorld(t, *soakSeed)
	w.start()
	w.watch()
	w.work()
	rng := rand.New(rand.NewPCG(*soakSeed, 2))
	end := time.Now().Add(*soakFor)
	for round := 1; time.Now().Before(end) && !t.Failed(); round++ {
		w.storm(rng, min(spell, time.Until(end)))
		w.compare(round)
	}
	w.end()
}
