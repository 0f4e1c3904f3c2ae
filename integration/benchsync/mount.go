//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
	"time"

	"go.uber.org/zap"

	"memfs"
	"memfs/reconcile"
	"memfs/store/claude"
)

// never is an interval at which there are no passes but those ordered.
const never = time.Hour

// profileEnv is the variable that names a file for a CPU profile of the process.
const profileEnv = "BENCHSYNC_PROFILE"

func memfsMain() error {
	if path := os.Getenv(profileEnv); path != "" {
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	return peerMain(func(c peerConfig) (peer, func() error, error) {
		api, err := claude.New(claude.Config{BaseURL: c.URL, Credential: credential})
		if err != nil {
			return nil, nil, err
		}
		m := &memfsPeer{config: c, api: api}
		return m, m.attach, nil
	})
}

// memfsPeer is a mount.
type memfsPeer struct {
	config  peerConfig
	api     *claude.API
	session *memfs.Session
}

func (m *memfsPeer) attach() error {
	log, err := zap.Config{Level: zap.NewAtomicLevelAt(zap.WarnLevel), Encoding: "console",
		EncoderConfig: zap.NewDevelopmentEncoderConfig(), OutputPaths: []string{"stderr"}}.Build()
	if err != nil {
		return err
	}
	m.session, err = memfs.Attach(context.Background(), memfs.Options{
		StateDir: m.config.State, Endpoint: m.config.URL, Log: log,
		Sync: reconcile.Options{Interval: never, NoHydrate: !m.config.Hydrate, AllowMassDelete: true},
	}, []memfs.Store{{Client: m.api.Store(m.config.Store.ID), Info: m.config.Store, Path: m.config.Path}})
	return err
}

func (m *memfsPeer) due() {}

func (m *memfsPeer) pass() error {
	_, err := m.session.Sync(context.Background(), memfs.SyncOptions{})
	return err
}

// await looks rarely: a look at the state costs a look at every file.
func (m *memfsPeer) await() error {
	for m.session.Status()[0].Remote > 0 {
		time.Sleep(50 * time.Millisecond)
	}
	return nil
}

func (m *memfsPeer) end() error {
	defer m.api.Close()
	result, err := m.session.Detach(context.Background())
	if len(result.Unsent) > 0 {
		err = errors.Join(err, fmt.Errorf("not sent: %v", result.Unsent))
	}
	return err
}
