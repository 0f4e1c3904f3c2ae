package worker

import (
	"context"
	"io/fs"
	"log/slog" //nolint:depguard // what the SDK takes
	"os"
	"path/filepath"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/tools/agenttoolset"
	"go.uber.org/zap"
)

// skills downloads the skills of a session's agent into a directory of their
// own, from which the tools take them; remove removes it. A skill that cannot
// be had is left out.
func (s *serving) skills(ctx context.Context, session *anthropic.BetaManagedAgentsSession) (skills string, remove func(), err error) {
	remove = func() {}
	if len(session.Agent.Skills) == 0 {
		return "", remove, nil
	}
	dir, err := os.MkdirTemp("", "memfs-skills-")
	if err != nil {
		return "", remove, err
	}
	remove = func() {
		if err := os.RemoveAll(dir); err != nil {
			s.log.Warn("skill cleanup failed", zap.String("code", "skills_left"), zap.Error(err))
		}
	}
	slog.SetDefault(sdkLog(s.c.Log.With(zap.String("work_id", s.item.ID)))) // the SDK takes no other for this, and adds the session
	env := agenttoolset.AgentToolContext{Workdir: dir}
	if err := env.SetupSkillsFromSession(ctx, s.sdk, session); err != nil {
		return "", remove, err
	}
	return filepath.Join(dir, "skills"), remove, s.give(dir)
}

// give makes everything in dir the tools' user's.
func (s *serving) give(dir string) error {
	user := s.c.Tools.User
	if user == nil {
		return nil
	}
	return each(dir, func(path string) error { return os.Lchown(path, int(user.UID), int(user.GID)) })
}

// each calls f for everything in dir, and for dir itself last: until then nobody
// else can reach into it and put links to the host's files in f's way.
func each(dir string, f func(path string) error) error {
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		return f(path)
	})
	if err != nil {
		return err
	}
	return f(dir)
}
