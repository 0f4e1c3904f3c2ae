package local

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open opens a server that is closed at the test's end.
func open(t *testing.T, dir string, o Options) *Server {
	t.Helper()
	s, err := Open(dir, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// answer is what a test looks at in an answer.
type answer struct {
	status int
	text   string
	object struct {
		ID              string
		MemoryVersionID string `json:"memory_version_id"`
		CreatedAt       string `json:"created_at"`
		Data            []struct{ ID, Path string }
		NextPage        string `json:"next_page"`
		Error           struct{ Type, Message string }
	}
}

// ask calls the handler within the process.
func ask(t *testing.T, s *Server, method, path, body string) answer {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("anthropic-beta", memoryBeta)
	r.Header.Set("x-api-key", "some-key")
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	text, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	a := answer{status: w.Code, text: string(text)}
	require.NoError(t, json.Unmarshal(text, &a.object), a.text)
	return a
}

func (a answer) ok(t *testing.T) answer {
	t.Helper()
	require.Equal(t, http.StatusOK, a.status, a.text)
	return a
}

// makeStore returns the path of a new store.
func makeStore(t *testing.T, s *Server) string {
	t.Helper()
	return "/v1/memory_stores/" + ask(t, s, "POST", "/v1/memory_stores", `{"name":"test"}`).ok(t).object.ID
}

func create(t *testing.T, s *Server, st, path, content string) answer {
	t.Helper()
	body, err := json.Marshal(map[string]string{"path": path, "content": content})
	require.NoError(t, err)
	return ask(t, s, "POST", st+"/memories", string(body))
}
