package worker

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSessionsToken(t *testing.T) {
	encode := base64.URLEncoding.EncodeToString
	for secret, token := range map[string]string{
		encode([]byte(`{"sessions_token":"t"}`)):                           "t",
		strings.TrimRight(encode([]byte(`{"sessions_token":"t?>"}`)), "="): "t?>",
		encode([]byte(`{"sessions_token":"t","auth":[{"type":"x"}]}`)):     "t",
		encode([]byte(`{"sessions_token":1}`)):                             "",
		encode([]byte(`{"sessions_token":"t\r\nX-Admin: 1"}`)):             "",
		encode([]byte(`{"sessions_token":"\u0000"}`)):                      "",
		encode([]byte(`{}`)):                                               "",
		encode([]byte(`["sessions_token"]`)):                               "",
		encode([]byte(`sessions_token`)):                                   "",
		"not base64 at all":                                                "",
		"":                                                                 "",
	} {
		assert.Equal(t, token, sessionsToken(secret), secret)
	}
}

func environment(variables map[string]string) func(string) string {
	return func(name string) string { return variables[name] }
}

func TestReadItemPrefersVariables(t *testing.T) {
	in := `{"id":"w-in","environment_id":"e-in","data":{"type":"session","id":"s-in"},"secret":""}`
	item, err := ReadItem(environment(map[string]string{varWork: "w", varHeartbeat: "h"}), "key", strings.NewReader(in))
	require.NoError(t, err)
	assert.Equal(t, Item{ID: "w", EnvironmentID: "e-in", SessionID: "s-in", Type: "session", EnvironmentKey: "key", LastHeartbeat: "h"}, item)
	assert.Equal(t, "key", item.credential())
}

// With a secret in the environment, standard input is somebody else's.
func TestReadItemLeavesStandardInputAlone(t *testing.T) {
	variables := map[string]string{varWork: "w", varSession: "s", varEnvironment: "e", varSecret: base64.RawURLEncoding.EncodeToString([]byte(`{"sessions_token":"t"}`))}
	item, err := ReadItem(environment(variables), "", iotest.ErrReader(io.ErrClosedPipe))
	require.NoError(t, err)
	assert.Equal(t, "t", item.credential())

	delete(variables, varSecret)
	_, err = ReadItem(environment(variables), "key", nil)
	require.NoError(t, err, "a terminal is not read")
}

func FuzzReadItem(f *testing.F) {
	f.Add(`{"id":"w","environment_id":"e","data":{"type":"session","id":"s"},"secret":"eyJzZXNzaW9uc190b2tlbiI6InQifQ"}`)
	f.Add(`{"id":1}`)
	f.Add(`{"secret":"sk-ant-secret`)
	f.Fuzz(func(t *testing.T, in string) {
		item, err := ReadItem(environment(nil), "", strings.NewReader(in))
		if err != nil {
			var w wireItem
			if json.Unmarshal([]byte(in), &w) == nil && len(w.Secret) > 8 {
				require.NotContains(t, err.Error(), w.Secret)
			}
			return
		}
		require.NotEmpty(t, item.ID)
		require.NotEmpty(t, item.SessionID)
		require.NotEmpty(t, item.credential())
	})
}
