package local

import (
	"crypto/rand"
	"encoding/base64"

	"github.com/go-json-experiment/json"
)

// newToken makes the token of one work item: the credential for its session,
// and for the memories of the session's stores.
func newToken() string { return sessionsTokenPrefix + rand.Text() + rand.Text() }

// secretOf is the form in which a poll hands a token out.
func secretOf(token string) (string, error) {
	raw, err := json.Marshal(struct {
		SessionsToken string `json:"sessions_token"`
	}{token})
	return base64.RawURLEncoding.EncodeToString(raw), err
}
