//go:build linux

package main_test

import (
	"database/sql"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
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
	stages := maps.Clone(staged)
	maps.Copy(stages, stagedState)
	for code, stage := range stages {
		t.Run(code, func(t *testing.T) {
			x := newTrouble(t, words)
			stage(x)
			x.sees(code)
		})
	}
}

// TestEveryTroubleshootingEntryIsStagedSomewhere: here, in the test that
// stagedIn names, or with a reason nowhere.
func TestEveryTroubleshootingEntryIsStagedSomewhere(t *testing.T) {
	known := map[string]bool{}
	for _, codes := range entries(t) {
		for code := range codes {
			known[code] = true
			places := 0
			for _, stages := range []map[string]func(*trouble){staged, stagedState} {
				if stages[code] != nil {
					places++
				}
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
	for _, codes := range []map[string]string{stagedIn, notStaged} {
		for code := range codes {
			assert.True(t, known[code], "the manual has no entry for %s", code)
		}
	}
}

// staged brings a message about.
var staged = map[string]func(*trouble){
	"mounted":      func(x *trouble) { x.start("mount", "notes:"+x.mnt, "--log-format=json") },
	"synced":       func(x *trouble) { x.mount(); x.write("a.md", "one\n"); x.sync() },
	"busy":         func(x *trouble) { x.mount(); x.answers(http.StatusConflict, "conflict_error"); x.sync() },
	"failed":       func(x *trouble) { x.mount(); x.answers(http.StatusBadRequest, "invalid_request_error"); x.sync() },
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
		x.answersSome(http.StatusInternalServerError, "api_error", func(r *http.Request) bool { return r.Method == http.MethodPost })
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
	"kept_local": func(x *trouble) {
		x.mount()
		m := x.sent("/a.md", "one\n")
		require.NoError(x.t, os.Rename(x.file("a.md"), x.file("a.md~")))
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
	"metrics":     func(x *trouble) { x.start("mount", "notes:"+x.mnt, "--log-format=json", "--metrics-addr=0") },
	"trace":       func(x *trouble) { x.mount("--trace"); x.write("a.md", "one\n") },
	"stale_mount": func(x *trouble) { x.mount(); x.killed(); x.start("mount", "notes:"+x.mnt, "--log-format=json") },
	"below_mount": func(x *trouble) {
		x.mount()
		x.killed()
		x.under("early.md", "early\n")
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
	"dead_mount_left": func(x *trouble) { // of another user, as a probe of an ordinary user meets it
		if os.Geteuid() != 0 {
			x.t.Skip("only root can be two users")
		}
		x.mount("--allow-other")
		x.killed()
		for _, dir := range []string{x.dir, filepath.Dir(program)} {
			require.NoError(x.t, os.Chmod(dir, 0o755))
		}
		cmd := x.with("RUNTIME_DIRECTORY=", "STATE_DIRECTORY=", "HOME=/").command("unmount", "--all", "--log-format=json")
		cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		x.follow(cmd)
	},
	"attach_left": func(x *trouble) { // somebody uses one mount when the other store turns out not to be there
		other, held := x.store("other"), make(chan struct{})
		fault := func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, other+"/memories") {
				return false
			}
			<-held
			refuse(w, http.StatusNotFound, "not_found_error")
			return true
		}
		x.fault.Store(&fault)
		x.start("mount", "notes:"+x.mnt, "other:"+x.path("other"), "--log-format=json")
		x.await(x.file(store.MarkerName))
		f, err := os.Open(x.mnt)
		require.NoError(x.t, err)
		x.t.Cleanup(func() { _ = f.Close() })
		close(held)
	},
	"process_silent": func(x *trouble) {
		x.mount()
		stopped := x.cmd.Process
		require.NoError(x.t, stopped.Signal(syscall.SIGSTOP))
		x.t.Cleanup(func() { assert.NoError(x.t, stopped.Signal(syscall.SIGCONT)) })
		x.start("sync", "--log-format=json")
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
	"session_queued": func(x *trouble) {
		write(x.t, x.path("session.yaml"), "stores: [{name: notes}]\ncalls: [{bash: 'true'}]\n")
		x.start("serve", "--local", x.path("open"), "--listen", "127.0.0.1:0", "--log-format=json", "--session", x.path("session.yaml"))
	},
	"local_store": func(x *trouble) {
		dir := x.path("open")
		x.must("store", "create", "notes", "--local", dir)
		database, err := sql.Open("sqlite", filepath.Join(dir, "memfs.db"))
		require.NoError(x.t, err)
		_, err = database.ExecContext(x.t.Context(), "DROP TABLE stores")
		require.NoError(x.t, err)
		require.NoError(x.t, database.Close())
		x.start("store", "list", "--local", dir, "--log-format=json")
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
