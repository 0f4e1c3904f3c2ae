//go:build linux

package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog" //nolint:depguard // what the SDK logs with
	"os"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"                  //nolint:depguard // the official sync is what is measured
	"github.com/anthropics/anthropic-sdk-go/v2/lib/environments" //nolint:depguard // the same
	"github.com/anthropics/anthropic-sdk-go/v2/option"           //nolint:depguard // the same

	"memfs/store/local"
)

var officialLog = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))

func officialMain() error {
	return peerMain(func(c peerConfig) (peer, func() error, error) {
		client := anthropic.NewClient(option.WithBaseURL(c.URL), option.WithAPIKey(credential))
		stores, err := environments.NewSessionMemoryStores(client, environments.SessionMemoryStoresOptions{
			Workdir: c.State, SyncInterval: environments.MinMemorySyncInterval, Logger: officialLog,
		})
		if err != nil {
			return nil, nil, err
		}
		session, err := client.Beta.Sessions.Get(context.Background(), c.Session, anthropic.BetaSessionGetParams{})
		if err != nil {
			return nil, nil, err
		}
		o := &officialPeer{stores: stores}
		return o, func() error { defer o.synced(); return stores.Download(context.Background(), session) }, nil
	})
}

// officialPeer is the SDK's copy of a store, driven as its worker does.
type officialPeer struct {
	stores *environments.SessionMemoryStores
	last   time.Time
}

func (o *officialPeer) synced() { o.last = time.Now() }

// due: the official sync does nothing within its least interval.
func (o *officialPeer) due() { time.Sleep(time.Until(o.last.Add(environments.MinMemorySyncInterval))) }

func (o *officialPeer) pass() error {
	defer o.synced()
	o.stores.SyncIfDue(context.Background())
	return nil
}

// await has nothing to wait for: all contents come with the start.
func (o *officialPeer) await() error { return nil }

func (o *officialPeer) end() error {
	o.stores.Cleanup(true)
	return nil
}

// officialWorker is the argument that starts the SDK's whole worker.
const officialWorker = "official-worker"

// officialWorkerConfig says whom it serves.
type officialWorkerConfig struct{ URL, Key, Workdir string }

// officialWorkerMain serves until its input ends.
func officialWorkerMain() error {
	in := json.NewDecoder(os.Stdin)
	var c officialWorkerConfig
	if err := in.Decode(&c); err != nil {
		return err
	}
	client := anthropic.NewClient(option.WithBaseURL(c.URL), option.WithAPIKey(credential))
	w := environments.NewEnvironmentWorker(client, environments.EnvironmentWorkerOptions{
		EnvironmentID: local.DefaultEnvironment, EnvironmentKey: c.Key, Workdir: c.Workdir, Logger: officialLog,
	})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	if err := json.NewEncoder(os.Stdout).Encode(struct{}{}); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, os.Stdin) // until there is no more
	cancel()
	if ran := <-ended; err == nil {
		err = ran
	}
	return err
}
