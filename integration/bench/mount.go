//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"memfs"
	"memfs/reconcile"
	"memfs/store/claude"
)

// never is an interval at which there are no passes but those ordered.
const never = 24 * time.Hour

func memfsMain() error {
	return peerMain(func(c peerConfig) (peer, func() error, error) {
		api, err := claude.New(claude.Config{BaseURL: c.URL, Credential: credential})
		if err != nil {
			return nil, nil, err
		}
		m := &memfsPeer{config: c, api: api}
		return m, m.attach, nil
	})
}

// memfsPeer is a process that mounts.
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
	var stores []memfs.Store
	for _, s := range m.config.Stores {
		stores = append(stores, memfs.Store{Client: m.api.Store(s.Info.ID), Info: s.Info, Path: s.Path})
	}
	m.session, err = memfs.Attach(context.Background(), memfs.Options{
		StateDir: m.config.State, Endpoint: m.config.URL, KeepCache: m.config.Keep, Log: log,
		Sync: reconcile.Options{Interval: never, NoHydrate: !m.config.Hydrate, AllowMassDelete: true},
	}, stores)
	return err
}

func (m *memfsPeer) due() {}

func (m *memfsPeer) pass() error {
	_, err := m.session.Sync(context.Background(), memfs.SyncOptions{})
	return err
}

// await looks rarely: a look at the state costs a look at every file, which
// counts as the peer's.
func (m *memfsPeer) await() error {
	for {
		began := time.Now()
		if m.unfetched() == 0 {
			return nil
		}
		time.Sleep(max(50*time.Millisecond, 30*time.Since(began)))
	}
}

func (m *memfsPeer) unfetched() (n int) {
	for _, s := range m.session.Status() {
		n += s.Remote
	}
	return n
}

func (m *memfsPeer) end() error {
	defer m.api.Close()
	result, err := m.session.Detach(context.Background())
	if len(result.Unsent) > 0 {
		err = errors.Join(err, fmt.Errorf("not sent: %v", result.Unsent))
	}
	return err
}
