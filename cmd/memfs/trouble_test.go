package main_test

import (
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"memfs/store"
)

// TestTroubleshootingIsStaged brings about what the manual's log messages tell
// of, on real mounts, and sees them in its words.
func TestTroubleshootingIsStaged(t *testing.T) {
	words := map[string][]string{}
	for _, section := range entries(t) {
		maps.Copy(words, section)
	}
	for code, stage := range staged {
		t.Run(code, func(t *testing.T) {
			x := newTrouble(t, words)
			stage(x)
			x.sees(code)
		})
	}
}

// TestEveryTroubleshootingEntryIsStagedSomewhere: those of the worker are staged
// in integration/worker.
func TestEveryTroubleshootingEntryIsStagedSomewhere(t *testing.T) {
	for section, codes := range entries(t) {
		if section == "Worker" {
			continue
		}
		for code := range codes {
			places := 0
			if staged[code] != nil {
				places++
			}
			if file := stagedIn[code]; file != "" {
				text, err := os.ReadFile("../../" + file)
				if assert.NoError(t, err) {
					assert.Contains(t, string(text), `"`+code+`"`, file)
				}
				places++
			}
			if notStaged[code] != "" {
				places++
			}
			assert.Equal(t, 1, places, "%s is staged here, or elsewhere, or there is a reason", code)
		}
	}
}

// stagedIn names the tests elsewhere that see a message.
var stagedIn = map[string]string{
	"store_full":       "integration/converge/states_test.go",
	"fetch_failed":     "reconcile/pass_test.go",
	"redacted":         "reconcile/redact_test.go",
	"mass_delete":      "integration/crash/guard_test.go",
	"held_deletes":     "integration/crash/guard_test.go",
	"final_cut_off":    "reconcile/pass_test.go",
	"unknown_error":    "fs/errno_test.go",
	"journal_damaged":  "integration/crash/kill_test.go",
	"save_cut_off":     "integration/crash/save_test.go",
	"owner_ending":     "integration/crash/orphan_test.go",
	"owner_hung":       "integration/crash/hung_test.go",
	"orphan_sent":      "integration/crash/orphan_test.go",
	"orphan_discarded": "integration/crash/orphan_test.go",
	"conflict_expired": "fs/attach/expire_test.go",
	"session_over":     "integration/worker/serve_test.go",
}

// notStaged says why a message cannot be brought about from outside.
var notStaged = map[string]string{
	"busy":              "the store answers a conflict with every request of a pass at once: a race of its own",
	"failed":            "an error that none of the others is; whichever could be named has a code",
	"dead_mount_left":   "a dead mount that root may not take away",
	"process_silent":    "a process that hangs for longer than its watchdog lets it",
	"kernel_notice":     "a kernel that refuses a notification it was asked to support",
	"panic":             "a fault of memfs itself; the handlers' recovery is tested in fs",
	"not_closed":        "a close that fails: the disk, or a fault of memfs",
	"close_failed":      "a close that fails: the disk, or a fault of memfs",
	"status":            "a status that is no JSON: a fault of memfs",
	"attach_left":       "an unmount that fails while a failed attach is taken back",
	"journal":           "a disk that is full; the seam for it is in store/replica",
	"journal_sync":      "a disk that fails to sync",
	"journal_broken":    "a disk that fails while the journal is replaced",
	"checkpoint_failed": "a disk that fills up while the journal is made smaller",
	"content_lost":      "a state directory that somebody takes files out of while it is written",
	"content_not_kept":  "a disk that is full",
	"orphan":            "a state directory that cannot be listed after it was opened",
	"orphan_failed":     "a store that fails for the orphan and not for the attach before",
	"cache_expired":     "a cache that is a week old",
	"conflicts":         "a conflict area that cannot be read",
	"local_store":       "a database that fails after it was opened",
}

// staged brings a message about.
var staged = map[string]func(*trouble){
	"mounted":      func(x *trouble) { x.start("mount", "notes:"+x.mnt, "--log-format=json") },
	"synced":       func(x *trouble) { x.mount(); x.write("a.md", "one\n"); x.sync() },
	"server_error": func(x *trouble) { x.mount(); x.answers(http.StatusInternalServerError, "api_error"); x.sync() },
	"rate_limited": func(x *trouble) { x.mount(); x.answers(http.StatusTooManyRequests, "rate_limit_error"); x.sync() },
	"unauthorized": func(x *trouble) { x.mount(); x.answers(http.StatusUnauthorized, "authentication_error"); x.sync() },
	"store_gone":   func(x *trouble) { x.mount(); x.answers(http.StatusNotFound, "not_found_error"); x.sync() },
	"unreachable": func(x *trouble) {
		x.mount()
		x.front.CloseClientConnections()
		x.front.Close()
		x.sync()
	},
	"protocol": func(x *trouble) {
		x.mount()
		nonsense := func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte("{"))
			return true
		}
		x.fault.Store(&nonsense)
		x.sync()
	},
	"store_archived": func(x *trouble) {
		x.mount()
		id := x.status(x.mnt).Status.StoreID
		request, err := http.NewRequestWithContext(x.t.Context(), http.MethodPost, x.front.URL+"/v1/memory_stores/"+id+"/archive", nil)
		require.NoError(x.t, err)
		request.Header.Set("x-api-key", "any")
		request.Header.Set("anthropic-beta", "agent-memory-2026-07-22")
		request.Header.Set("anthropic-version", "2023-06-01")
		answer, err := http.DefaultClient.Do(request)
		require.NoError(x.t, err)
		require.NoError(x.t, answer.Body.Close())
		require.Equal(x.t, http.StatusOK, answer.StatusCode)
		x.write("a.md", "one\n")
		x.sync()
	},
	"send_failed": func(x *trouble) {
		x.mount()
		writes := func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPost {
				return false
			}
			http.Error(w, `{"type":"error","error":{"type":"api_error","message":"staged"}}`, http.StatusInternalServerError)
			return true
		}
		x.fault.Store(&writes)
		x.write("a.md", "one\n")
		x.sync()
	},
	"deleted": func(x *trouble) {
		x.mount()
		x.sent("/a.md", "one\n")
		require.NoError(x.t, os.Remove(x.file("a.md")))
		x.sync()
	},
	"would_delete": func(x *trouble) {
		x.mount("--sync-deletions=log_only")
		x.sent("/a.md", "one\n")
		require.NoError(x.t, os.Remove(x.file("a.md")))
		x.sync()
	},
	"conflict": func(x *trouble) {
		x.mount()
		m := x.sent("/a.md", "one\n")
		x.write("a.md", "mine\n")
		x.edited(m, "theirs\n")
		x.sync()
	},
	"restored": func(x *trouble) {
		x.mount()
		m := x.sent("/a.md", "one\n")
		require.NoError(x.t, os.Remove(x.file("a.md")))
		x.edited(m, "theirs\n")
		x.sync()
	},
	"recreated": func(x *trouble) {
		x.mount()
		m := x.sent("/a.md", "one\n")
		x.write("a.md", "mine\n")
		require.NoError(x.t, x.client.Delete(x.t.Context(), m.ID, m.SHA))
		x.sync()
	},
	"kept_read_only": func(x *trouble) {
		x.created("/a.md", "one\n")
		m := x.memory(x.client, "/a.md")
		x.start("mount", "notes:"+x.mnt+":ro", "--log-format=json")
		x.sees("mounted")
		x.write("a.md", "mine\n")
		require.NoError(x.t, x.client.Delete(x.t.Context(), m.ID, m.SHA))
		x.sync()
	},
	"rename_undone": func(x *trouble) {
		x.mount()
		x.sent("/a.md", "one\n")
		require.NoError(x.t, os.Rename(x.file("a.md"), x.file("b.md")))
		x.created("/b.md", "theirs\n")
		x.sync()
	},
	"path_lost": func(x *trouble) {
		x.mount()
		x.write("a", "mine\n")
		x.created("/a/b.md", "theirs\n")
		x.sync()
	},
	"stray": func(x *trouble) {
		x.mount()
		m := x.sent("/a.md", "one\n")
		f, err := os.OpenFile(x.file("a.md"), os.O_WRONLY, 0)
		require.NoError(x.t, err)
		x.edited(m, "theirs\n")
		x.sync()
		_, err = f.WriteString("late\n")
		require.NoError(x.t, err)
		require.NoError(x.t, f.Close())
		x.sync()
	},
	"refused": func(x *trouble) { x.mount(); x.write("a.md", "\xff"); x.sync() },
	"held": func(x *trouble) {
		x.mount()
		require.ErrorIs(x.t, os.WriteFile(x.file("a.md"), make([]byte, store.MaxContent+1), 0o600), syscall.EFBIG)
		x.sync()
	},
	"hidden": func(x *trouble) {
		x.created("/"+strings.Repeat("a", 300), "one\n")
		x.start("mount", "notes:"+x.mnt, "--log-format=json")
	},
	"marker": func(x *trouble) {
		x.mount()
		require.NoError(x.t, os.Rename(x.file(store.MarkerName), x.file("gone~")))
		x.sync()
	},
	"metrics": func(x *trouble) { x.start("mount", "notes:"+x.mnt, "--log-format=json", "--metrics-addr=0") },
	"trace":   func(x *trouble) { x.mount("--trace"); x.write("a.md", "one\n") },
	"stale_mount": func(x *trouble) {
		x.mount()
		x.told(syscall.SIGKILL)
		for range x.events {
		}
		x.start("mount", "notes:"+x.mnt, "--log-format=json")
	},
	"mount_busy": func(x *trouble) {
		x.mount()
		f, err := os.Open(x.mnt)
		require.NoError(x.t, err)
		x.t.Cleanup(func() { _ = f.Close() })
		x.told(syscall.SIGTERM)
		x.sees("mount_busy")
		require.NoError(x.t, f.Close())
		x.events = said("mount_busy", x.manual)
	},
	"foreign_unmount": func(x *trouble) {
		x.mount()
		require.NoError(x.t, exec.Command("umount", x.mnt).Run())
	},
	"ending": func(x *trouble) { x.mount(); x.told(syscall.SIGTERM) },
	"cut_short": func(x *trouble) {
		x.mount()
		over := make(chan struct{})
		x.t.Cleanup(func() { close(over) })
		slow := func(http.ResponseWriter, *http.Request) bool { <-over; return false }
		x.fault.Store(&slow)
		x.write("a.md", "one\n")
		x.told(syscall.SIGTERM)
		x.sees("ending")
		time.Sleep(1100 * time.Millisecond) // a second signal sooner is the same stop
		x.told(syscall.SIGTERM)
	},
	"final_failed": func(x *trouble) {
		x.mount()
		x.write("a.md", "one\n")
		x.answers(http.StatusInternalServerError, "api_error")
		x.told(syscall.SIGTERM)
	},
	"unsent": func(x *trouble) { x.mount(); x.write("a.md", "\xff"); x.told(syscall.SIGTERM) },
	"no_socket": func(x *trouble) {
		write(x.t, x.path("file"), "")
		x.host = x.with("RUNTIME_DIRECTORY=" + x.path("file"))
		x.start("mount", "notes:"+x.mnt, "--log-format=json")
	},
	"watchdog": func(x *trouble) {
		socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: x.path("n"), Net: "unixgram"})
		require.NoError(x.t, err)
		x.t.Cleanup(func() { assert.NoError(x.t, socket.Close()) })
		x.host = x.with("NOTIFY_SOCKET="+x.path("n"), "WATCHDOG_USEC=soon")
		x.mount()
	},
	"state_volatile": func(x *trouble) {
		dir, err := os.MkdirTemp("/dev/shm", "memfs")
		require.NoError(x.t, err)
		x.t.Cleanup(func() { assert.NoError(x.t, os.RemoveAll(dir)) })
		x.start("mount", "notes:"+x.mnt, "--log-format=json", "--state-dir", dir)
	},
	"orphan_waits": func(x *trouble) {
		x.mount()
		x.write("a.md", "one\n")
		require.NoError(x.t, os.Rename(x.file(store.MarkerName), x.file("gone~")))
		x.told(syscall.SIGKILL)
		for range x.events {
		}
		x.must("unmount", x.mnt)
		x.start("mount", "notes:"+x.path("other"), "--log-format=json")
	},
	"session_queued": func(x *trouble) {
		write(x.t, x.path("session.yaml"), "stores: [{name: notes}]\ncalls: [{bash: 'true'}]\n")
		x.start("serve", "--local", x.path("open"), "--listen", "127.0.0.1:0", "--log-format=json", "--session", x.path("session.yaml"))
	},
	"open_server": func(x *trouble) {
		x.start("serve", "--local", x.path("open"), "--listen", "0.0.0.0:0", "--log-format=json")
	},
}

// said is a log that has this code, for what was seen before.
func said(code string, manual map[string][]string) chan event {
	log := make(chan event, 1)
	log <- event{code, manual[code][0]}
	close(log)
	return log
}
