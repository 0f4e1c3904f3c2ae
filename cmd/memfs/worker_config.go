package main

import (
	"os"
	"path/filepath"

	"go.uber.org/zap"

	"memfs"
	"memfs/cmd/memfs/internal/backend"
	"memfs/cmd/memfs/internal/control"
	"memfs/cmd/memfs/internal/credential"
	"memfs/cmd/memfs/internal/exitcode"
	"memfs/cmd/memfs/internal/supervise"
	"memfs/cmd/memfs/internal/worker"
	"memfs/cmd/memfs/internal/worker/toolbox"
)

// chooseToolsUser says who runs the tools where memfs is root and nobody was
// named: the working directory's owner (R18). Where that is root there may be
// nobody else, as in many containers, and the worker that memfs takes the place
// of ran there too: then it is root without capabilities.
func (s *workerSettings) chooseToolsUser(workdir string) (err error) {
	if os.Geteuid() == 0 && s.toolsUser == "" {
		s.toolsUser, err = toolbox.Owner(workdir)
	}
	return exitcode.With(exitcode.Usage, err)
}

// sayToolsUser says what an operator may not have thought of.
func (a *app) sayToolsUser(user *toolbox.User) {
	switch {
	case os.Geteuid() != 0:
	case user == nil:
		a.log.Warn("the tools run as root, without capabilities: what root owns on this host they can change", zap.String("code", "tools_as_root"),
			zap.String("remedy", "give the working directory to who is to run them, or name another user with --tools-user"))
	default:
		a.log.Info("the tools run without privileges", zap.String("code", "tools_user"), zap.String("user", user.Name), zap.Uint32("uid", user.UID))
	}
}

// workerConfig is what the settings mean for every session; decide where it is
// this process that says who runs the tools, and not the one that started it.
func (a *app) workerConfig(s *workerSettings, decide bool) (c worker.Config, err error) {
	c = worker.Config{BaseURL: backend.URL(), MaxIdle: s.maxIdle, NoMemory: s.memory == "off", Log: a.log}
	if err := backend.CheckURL(); err != nil {
		return c, err
	}
	if c.Workdir, err = filepath.Abs(s.workdir); err != nil {
		return c, err
	}
	if info, err := os.Stat(c.Workdir); err != nil || !info.IsDir() {
		return c, exitcode.Errorf(exitcode.Usage, "the working directory %s is no directory: make it, or name another with --workdir", c.Workdir)
	}
	c.Root = s.root
	if decide {
		if err := s.chooseToolsUser(c.Workdir); err != nil {
			return c, err
		}
	}
	state, err := s.stateDirectory()
	if err != nil {
		return c, err
	}
	c.Attach = s.options(state, "", a.log)
	c.Attach.AcceptEmptyDir = false
	c.Runtime = control.Directory(os.Getenv, os.Geteuid())
	c.Tools = toolbox.Options{Command: []string{self(), "worker", "tools"}, Umask: a.umask, Hide: append(s.hide, state, c.Runtime)}
	c.Tools.Hide = append(c.Tools.Hide, credential.Places(environmentKey)...)
	if s.toolsUser != "" {
		if os.Geteuid() != 0 {
			return c, exitcode.Errorf(exitcode.Usage, "--tools-user needs memfs to be root")
		}
		user, err := toolbox.LookupUser(s.toolsUser)
		if err != nil {
			return c, exitcode.With(exitcode.Usage, err)
		}
		if user.UID != 0 {
			c.Tools.User = user
			c.Attach.Owner, c.Attach.AllowOther = &memfs.Owner{UID: user.UID, GID: user.GID}, true
		}
	}
	if decide {
		a.sayToolsUser(c.Tools.User)
	}
	c.Tools.Environment = toolbox.Environment(os.Environ(), c.Tools.User)
	c.Transport = s.observation.transport()
	c.Supervise = func(id string, attached *memfs.Session) *supervise.Supervisor {
		s.observation.watch(attached)
		return supervise.New(&session{Session: attached, id: id, metrics: s.observation.metrics, log: a.log}, version, a.log)
	}
	a.log.Debug("worker", zap.String("code", "worker_settings"), zap.String("workdir", c.Workdir), zap.String("state_dir", state))
	return c, nil
}
