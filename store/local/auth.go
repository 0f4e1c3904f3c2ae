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

// authenticate returns who makes a request to a memory endpoint. The
// credential is an API key or a session's token, in either header; memory
// endpoints refuse environment keys.
func (s *Server) authenticate(r *http.Request) (store.Actor, error) {
	credential := credentialOf(r)
	switch want := s.options.Credential; {
	case credential == "":
		return store.Actor{}, fmt.Errorf("%w: send one as Authorization: Bearer or x-api-key", store.ErrUnauthorized)
	case want != "" && subtle.ConstantTimeCompare([]byte(credential), []byte(want)) != 1:
		return store.Actor{}, fmt.Errorf("%w: not the one this server was started with", store.ErrUnauthorized)
	case want == "" && strings.HasPrefix(credential, environmentKeyPrefix):
		return store.Actor{}, fmt.Errorf("%w: an environment key does not open memory stores", store.ErrUnauthorized)
	}
	return actorOf(credential), nil
}

func credentialOf(r *http.Request) string {
	if scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	return r.Header.Get("x-api-key")
}

// actorOf names the holder of a credential without giving it away: the same
// credential is always the same actor.
func actorOf(credential string) store.Actor {
	sum := sha256.Sum256([]byte(credential))
	name := hex.EncodeToString(sum[:8])
	if strings.HasPrefix(credential, sessionsTokenPrefix) {
		return store.Actor{Type: "session_actor", ID: "sesn_" + name}
	}
	return store.Actor{Type: "api_actor", ID: "apikey_" + name}
}
