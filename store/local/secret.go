package local

import (
	"crypto/rand"
	"encoding/base64"

	"github.com/go-json-experiment/json"
)

// newToken makes the token of one work item: the credential for its session,
// and for the memories of the session's stores.
func newToken() string { return sessionsTokenPrefix + rand.Text() + rand.Text() }

// secret is the form in which a poll hands out the token; nil for none.
func (w *workItem) secret() (*string, error) {
	switch fault := w.session.spec.Faults.Secret; {
	case fault != nil && *fault == "":
		return nil, nil
	case fault != nil:
		return fault, nil
	}
	raw, err := json.Marshal(struct {
		SessionsToken string `json:"sessions_token"`
	}{w.token})
	secret := base64.RawURLEncoding.EncodeToString(raw)
	return &secret, err
}
