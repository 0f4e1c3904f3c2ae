package local

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	"memfs/store"
)

// The shapes of credentials that are not API keys.
const (
	environmentKeyPrefix = "sk-ant-oat01-"
	sessionsTokenPrefix  = "sk-ant-req-"
)

// role is a kind of credential. An endpoint says which kinds it takes.
type role uint8

const (
	apiKey role = 1 << iota
	environmentKey
	sessionsToken
)

// caller is the holder of a credential.
type caller struct {
	role  role
	actor store.Actor
	// work is the item that a sessions token was issued for; nil for keys.
	work *workItem
}

// authenticate returns who makes a request to an endpoint that takes the
// credentials in allowed, in either header.
func (s *Server) authenticate(r *http.Request, allowed role) (caller, error) {
	credential := credentialOf(r)
	if credential == "" {
		return caller{}, fmt.Errorf("%w: send one as Authorization: Bearer or x-api-key", store.ErrUnauthorized)
	}
	who, err := s.identify(credential)
	if err == nil && who.role&allowed == 0 {
		err = fmt.Errorf("%w: this endpoint does not take that kind of credential", store.ErrUnauthorized)
	}
	return who, err
}

func (s *Server) identify(credential string) (caller, error) {
	want := s.options.Credential
	switch {
	case same(credential, s.options.EnvironmentKey):
		return caller{role: environmentKey}, nil
	case want != "" && same(credential, want):
		return caller{role: apiKey, actor: actorOf(credential)}, nil
	case strings.HasPrefix(credential, sessionsTokenPrefix):
		if w := s.agents.holder(credential); w != nil {
			return caller{role: sessionsToken, actor: store.Actor{Type: "session_actor", ID: w.session.id}, work: w}, nil
		}
		return caller{}, fmt.Errorf("%w: the sessions token is of no session of this server", store.ErrUnauthorized)
	case want != "", strings.HasPrefix(credential, environmentKeyPrefix):
		return caller{}, fmt.Errorf("%w: not one that this server was started with", store.ErrUnauthorized)
	default:
		return caller{role: apiKey, actor: actorOf(credential)}, nil
	}
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func credentialOf(r *http.Request) string {
	if scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	return r.Header.Get("x-api-key")
}

// actorOf names the holder of an API key without giving it away: the same key
// is always the same actor.
func actorOf(credential string) store.Actor {
	sum := sha256.Sum256([]byte(credential))
	return store.Actor{Type: "api_actor", ID: "apikey_" + hex.EncodeToString(sum[:8])}
}

// checkStore refuses what a sessions token does not reach: other stores than
// the session's, and changes in a store that is attached read-only.
func (c *call) checkStore() error {
	if c.work == nil {
		return nil
	}
	at, attached := c.work.session.attached(c.storeID())
	switch {
	case !attached:
		return fmt.Errorf("%w: the store is not attached to the session", errForbidden)
	case at.Access == readOnly && c.request.Method != http.MethodGet:
		return fmt.Errorf("%w: the store is attached read-only", errForbidden)
	default:
		return nil
	}
}

// checkSession refuses a sessions token at another session's endpoints.
func (c *call) checkSession(id string) error {
	if c.work != nil && c.work.session.id != id {
		return fmt.Errorf("%w: the sessions token is another session's", errForbidden)
	}
	return nil
}

// checkWork refuses a sessions token at another work item's endpoints.
func (c *call) checkWork(w *workItem) error {
	if c.work != nil && c.work != w {
		return fmt.Errorf("%w: the sessions token is another work item's", errForbidden)
	}
	return nil
}
