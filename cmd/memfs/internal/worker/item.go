package worker

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"memfs/store"
)

// maxItem bounds a work item that is read from standard input, in bytes.
const maxItem = 1 << 20

// sessionWork is the type of items that are sessions. The queue has others,
// for health checks; they are only stopped.
const sessionWork = "session"

// Item is a claimed work item.
type Item struct {
	ID, EnvironmentID, SessionID string
	// Type is "session" for what can be served.
	Type string
	// EnvironmentKey authorizes what the token does not; it may be "".
	EnvironmentKey string
	// Token is the session's credential, "" where the item brought none.
	Token string
	// Secret is set where the item had a secret, whether a token was in it or
	// not.
	Secret bool
	secret string
	// LastHeartbeat continues a lease that another process began; "" begins
	// one.
	LastHeartbeat string
}

// wireItem is a work item as the API writes it.
type wireItem struct {
	ID            string `json:"id"`
	EnvironmentID string `json:"environment_id"`
	Secret        string `json:"secret"`
	// EnvironmentKey is not the API's: a poller hands it to its own processes.
	EnvironmentKey string `json:"environment_key,omitzero"`
	Data           struct {
		Type string `json:"type"`
		ID   string `json:"id"`
	} `json:"data"`
}

// The variables that hand an item from one process to another.
const (
	varWork        = "ANTHROPIC_WORK_ID"
	varSession     = "ANTHROPIC_SESSION_ID"
	varEnvironment = "ANTHROPIC_ENVIRONMENT_ID"
	varSecret      = "ANTHROPIC_WORK_SECRET"
	varHeartbeat   = "ANTHROPIC_WORK_LAST_HEARTBEAT"
)

// ErrNoItem says that the environment does not name a work item.
var ErrNoItem = errors.New("no work item")

// ReadItem finds the item that a process was started for: in its variables,
// and what they do not say in the item's JSON on standard input. in is nil
// where that is a terminal. It reads one JSON value and no further.
func ReadItem(getenv func(string) string, key string, in io.Reader) (Item, error) {
	var w wireItem
	if getenv(varSecret) == "" && in != nil {
		err := json.NewDecoder(io.LimitReader(in, maxItem)).Decode(&w)
		if err != nil && !errors.Is(err, io.EOF) {
			return Item{}, fmt.Errorf("%w: standard input is not a work item's JSON: %w", ErrNoItem, quiet(err))
		}
	}
	w.ID = cmp.Or(getenv(varWork), w.ID)
	w.EnvironmentID = cmp.Or(getenv(varEnvironment), w.EnvironmentID)
	w.Data.ID = cmp.Or(getenv(varSession), w.Data.ID)
	w.Data.Type = cmp.Or(w.Data.Type, sessionWork)
	w.Secret = cmp.Or(getenv(varSecret), w.Secret)
	item := newItem(w, cmp.Or(key, w.EnvironmentKey))
	item.LastHeartbeat = getenv(varHeartbeat)
	for _, need := range []struct{ value, name string }{
		{item.ID, varWork}, {item.EnvironmentID, varEnvironment}, {item.SessionID, varSession},
	} {
		if need.value == "" {
			return Item{}, fmt.Errorf("%w: set %s, or give the item's JSON on standard input", ErrNoItem, need.name)
		}
	}
	return item, item.check()
}

// quiet leaves out of a JSON error what it may quote of a secret.
func quiet(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("invalid at byte %d", syntax.Offset)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("cut off, or longer than %d bytes", maxItem)
	}
	return errors.New("of the wrong form")
}

func newItem(w wireItem, key string) Item {
	return Item{
		ID: w.ID, EnvironmentID: w.EnvironmentID, SessionID: w.Data.ID, Type: w.Data.Type,
		EnvironmentKey: key, Token: sessionsToken(w.Secret), Secret: w.Secret != "", secret: w.Secret,
	}
}

// check refuses an item that nothing authorizes.
func (i Item) check() error {
	switch {
	case i.credential() != "":
		return nil
	case i.Secret:
		return fmt.Errorf("%w: the work secret carries no sessions token and there is no environment key; pass on the secret as the poll returned it, or set ANTHROPIC_ENVIRONMENT_KEY", store.ErrUnauthorized)
	default:
		return fmt.Errorf("%w: an environment key is required where there is no work secret; set ANTHROPIC_ENVIRONMENT_KEY or %s", store.ErrUnauthorized, varSecret)
	}
}

// credential authorizes everything that is done for the session.
func (i Item) credential() string { return cmp.Or(i.Token, i.EnvironmentKey) }

// sessionsToken takes the token out of an item's secret: base64url, padded or
// not, of a JSON object. A secret without one, or with one that could not stand
// in a request's header, has none.
func sessionsToken(secret string) string {
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(secret, "="))
	if err != nil {
		return ""
	}
	var payload struct {
		Token string `json:"sessions_token"`
	}
	if json.Unmarshal(raw, &payload) != nil || strings.ContainsFunc(payload.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return payload.Token
}
