package main

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"memfs/cmd/memfs/internal/flags"
	"memfs/cmd/memfs/internal/volume"
	"memfs/store"
)

// settings are the flags of the commands that attach stores.
type settings struct {
	root            string
	stateDir        string
	interval        time.Duration
	deletions       string
	allowMassDelete bool
	readOnlyMode    string
	hydrate         string
	maxMemories     int
	allowOther      bool
	keepCache       bool
	owner           owner
	session         string
	private         string // names the state of this run alone; "" goes by session or path
	observation     observation
}

// defineHost defines the flags that say what of this host is used.
func (s *settings) defineHost(set *pflag.FlagSet) {
	s.defineState(set)
	set.StringVar(&s.root, "root", volume.DefaultRoot, "`directory` under which stores without a PATH are mounted")
	set.BoolVar(&s.allowOther, "allow-other", false, "let other users in, as far as permission bits do")
}

func (s *settings) defineState(set *pflag.FlagSet) {
	set.StringVar(&s.stateDir, "state-dir", "", "`directory` for journals and caches (default $STATE_DIRECTORY, else "+defaultStateDir()+")")
}

// define defines all of them.
func (s *settings) define(set *pflag.FlagSet) {
	s.defineHost(set)
	flags.DurationVar(set, &s.interval, "sync-interval", 15*time.Second, time.Second, "time between passes, at least 1s; a bare number is seconds")
	flags.ChoiceVar(set, &s.deletions, "sync-deletions", "enabled", []string{"enabled", "log_only", "disabled"}, "what becomes of files deleted here")
	set.BoolVar(&s.allowMassDelete, "allow-mass-delete", false, "send deletes also when they concern most of a store")
	flags.ChoiceVar(set, &s.readOnlyMode, "read-only-mode", "local", []string{"local", "strict"}, "may programs change their copy of a read-only store (local), or is it EROFS (strict)")
	flags.ChoiceVar(set, &s.hydrate, "hydrate", "auto", []string{"auto", "off"}, "fetch contents in the background before they are read")
	set.IntVar(&s.maxMemories, "max-memories", store.DefaultMaxMemories, "how many memories a store may hold")
	s.owner.define(set)
	set.BoolVar(&s.keepCache, "keep-cache", false, "keep contents after a clean end, for a faster next start")
}

// stateDirectory is an absolute path: a background process leaves the working
// directory.
func (s *settings) stateDirectory() (string, error) {
	dir := s.stateDir
	if dir == "" {
		dir, _, _ = strings.Cut(os.Getenv("STATE_DIRECTORY"), ":")
	}
	if dir == "" {
		dir = defaultStateDir()
	}
	return filepath.Abs(dir)
}

func defaultStateDir() string {
	if os.Geteuid() == 0 {
		return "/var/lib/memfs"
	}
	if state := os.Getenv("XDG_STATE_HOME"); state != "" {
		return filepath.Join(state, "memfs")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = os.TempDir()
	}
	return filepath.Join(home, ".local", "state", "memfs")
}
