package local

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// The environment of a test binary that was started as another process.
const (
	childDir   = "MEMFS_TEST_LOCAL_DIR"
	childStore = "MEMFS_TEST_LOCAL_STORE"
	childName  = "MEMFS_TEST_LOCAL_NAME"
)

// cycles is how often a cycling process opens and closes the store.
const cycles = 8

func TestServingProcess(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		t.Skip("only runs as a process that other tests start")
	}
	s := open(t, dir, Options{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	fmt.Println("serving", l.Addr())
	require.NoError(t, http.Serve(l, s.Handler()))
}

func TestCyclingProcess(t *testing.T) {
	dir, st := os.Getenv(childDir), os.Getenv(childStore)
	if dir == "" {
		t.Skip("only runs as a process that other tests start")
	}
	for i := range cycles {
		s, err := Open(dir, Options{})
		require.NoError(t, err)
		create(t, s, st, fmt.Sprintf("/%s/%d", os.Getenv(childName), i), "x").ok(t)
		require.NoError(t, s.Close())
	}
}

// child runs one of the tests above as another process.
func child(t *testing.T, test, dir, st, name string) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^"+test+"$")
	c.Env = append(os.Environ(), childDir+"="+dir, childStore+"="+st, childName+"="+name)
	c.Stderr = os.Stderr
	return c
}

// serve starts a serving process, which is killed at the test's end at the
// latest, and returns its URL.
func serve(t *testing.T, dir string) (url string, kill func()) {
	t.Helper()
	c := child(t, "TestServingProcess", dir, "", "")
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	kill = sync.OnceFunc(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	t.Cleanup(kill)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if address, ok := strings.CutPrefix(lines.Text(), "serving "); ok {
			return "http://" + address, kill
		}
	}
	require.Fail(t, "the process does not serve")
	return "", nil
}

// post makes a memory over HTTP; 0 is no answer.
func post(client *http.Client, url, path, content string) (status int) {
	body, err := json.Marshal(map[string]string{"path": path, "content": content})
	if err != nil {
		return 0
	}
	r, err := http.NewRequest(http.MethodPost, url+"/memories", strings.NewReader(string(body)))
	if err != nil {
		return 0
	}
	r.Header.Set("anthropic-beta", memoryBeta)
	r.Header.Set("x-api-key", "some-key")
	answer, err := client.Do(r)
	if err != nil {
		return 0
	}
	defer func() { _ = answer.Body.Close() }()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return 0
	}
	return answer.StatusCode
}

func newClient(t *testing.T) *http.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// What was answered is there after a kill -9, and what was not is whole or not
// there at all.
func TestAnsweredWritesSurviveKill(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	st := makeStore(t, s)
	require.NoError(t, s.Close())
	client := newClient(t)
	answered := make(map[string]string)
	for round := range 3 {
		url, kill := serve(t, dir)
		var mu sync.Mutex
		var writers sync.WaitGroup
		var count atomic.Int64
		limit := 30 + rand.Int64N(30)
		for w := range 4 {
			writers.Go(func() {
				for i := 0; ; i++ {
					path, content := fmt.Sprintf("/%d/%d/%d", round, w, i), strings.Repeat(fmt.Sprint(i), 1_000)
					if post(client, url+st, path, content) != http.StatusOK {
						return
					}
					mu.Lock()
					answered[path] = content
					mu.Unlock()
					if count.Add(1) == limit {
						go kill()
					}
				}
			})
		}
		writers.Wait()
		kill()
	}

	s = open(t, dir, Options{})
	var verdict string
	require.NoError(t, s.db.QueryRow("PRAGMA integrity_check").Scan(&verdict))
	require.Equal(t, "ok", verdict)
	got := contents(t, s, st)
	for path, content := range answered {
		require.Equal(t, content, got[path], path)
	}
	require.GreaterOrEqual(t, len(answered), 90)
	t.Logf("%d answered, %d there", len(answered), len(got))
	var counted, versions int
	require.NoError(t, s.db.QueryRow("SELECT memories FROM stores").Scan(&counted))
	require.NoError(t, s.db.QueryRow("SELECT count(*) FROM versions").Scan(&versions))
	require.Equal(t, []int{len(got), len(got)}, []int{counted, versions})
}

func contents(t *testing.T, s *Server, st string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for next := ""; ; {
		a := ask(t, s, "GET", st+"/memories?view=full&page="+next, "").ok(t)
		var page struct {
			Data []struct{ Path, Content string }
		}
		require.NoError(t, json.Unmarshal([]byte(a.text), &page))
		for _, m := range page.Data {
			all[m.Path] = m.Content
		}
		if next = a.object.NextPage; next == "" {
			return all
		}
	}
}

func TestTwoProcessesServeOneDirectory(t *testing.T) {
	dir := t.TempDir()
	one, _ := serve(t, dir)
	two, _ := serve(t, dir)
	s := open(t, dir, Options{})
	st := makeStore(t, s)
	client := newClient(t)
	const rounds = 15
	var won, lost, own atomic.Int64
	var writers sync.WaitGroup
	for _, url := range []string{one, two} {
		for _, shape := range []string{"/r%d", "/r%d/below"} {
			writers.Go(func() {
				for i := range rounds {
					switch post(client, url+st, fmt.Sprintf(shape, i), url) {
					case http.StatusOK:
						won.Add(1)
					case http.StatusConflict:
						lost.Add(1)
					}
					if post(client, url+st, "/own"+fmt.Sprintf(shape, i)+url[len("http://"):], url) == http.StatusOK {
						own.Add(1)
					}
				}
			})
		}
	}
	writers.Wait()
	require.EqualValues(t, rounds, won.Load(), "one create of each overlapping set wins")
	require.EqualValues(t, 3*rounds, lost.Load())
	require.EqualValues(t, 4*rounds, own.Load())
	require.Len(t, contents(t, s, st), 5*rounds)

	var times, versions int
	require.NoError(t, s.db.QueryRow("SELECT count(DISTINCT created), count(*) FROM versions").Scan(&times, &versions))
	require.Equal(t, versions, times, "versions of two processes have one order")
}

// To open and close is safe while others do the same: making the schema,
// switching to the log, emptying it at the end.
func TestProcessesOpenAndCloseOneDirectory(t *testing.T) {
	fresh := t.TempDir()
	var opening sync.WaitGroup
	for range 8 {
		opening.Go(func() {
			s, err := Open(fresh, Options{})
			if err == nil {
				err = s.Close()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	opening.Wait()

	dir := t.TempDir()
	s := open(t, dir, Options{})
	st := makeStore(t, s)
	require.NoError(t, s.Close())
	var children sync.WaitGroup
	for _, name := range []string{"a", "b", "c"} {
		children.Go(func() {
			if out, err := child(t, "TestCyclingProcess", dir, st, name).Output(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	children.Wait()
	require.Len(t, contents(t, open(t, dir, Options{}), st), 3*cycles)
}
