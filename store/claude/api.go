package claude

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/pagination"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"
	"go.uber.org/zap"

	"memfs/store"
)

// DefaultTimeout bounds one request, its answer's body included, where
// Config.Timeout is zero.
const DefaultTimeout = 30 * time.Second

// memoryBeta is the one anthropic-beta value of memory-store calls. The API
// refuses a request that carries a second one.
const memoryBeta = "agent-memory-2026-07-22"

// Config says which API to talk to, and how.
type Config struct {
	// BaseURL is the API's address; "" is ANTHROPIC_BASE_URL, else the SDK's
	// default.
	BaseURL string
	// Credential is an API key or a sessions token, sent as a bearer token;
	// "" leaves it to the SDK's own sources (ANTHROPIC_API_KEY,
	// ANTHROPIC_AUTH_TOKEN, a profile).
	Credential string
	// HTTPClient carries the requests; nil is a client of our own. It is
	// copied, not changed.
	HTTPClient *http.Client
	// Wrap puts something between the API and the network, to count what goes
	// through; nil puts nothing there.
	Wrap func(http.RoundTripper) http.RoundTripper
	// Timeout bounds one request; 0 is DefaultTimeout.
	Timeout time.Duration
	// Log gets one debug line a request, without query, content or
	// credential; nil logs nothing.
	Log *zap.Logger
}

// API is one account's access to memory stores. It is safe for concurrent use.
type API struct {
	sdk  anthropic.Client
	http *http.Client
	// memory is put on every memory-store call, after the client's options,
	// so that no environment variable adds a second beta value.
	memory []option.RequestOption
}

// New makes an API. It sends nothing: a wrong address or credential shows with
// the first call.
func New(c Config) (*API, error) {
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	client := wrapClient(c.HTTPClient, c.Wrap, c.Log)
	opts := []option.RequestOption{
		option.WithHTTPClient(client),
		option.WithMaxRetries(0),
		option.WithRequestTimeout(c.Timeout),
	}
	if c.BaseURL != "" {
		u, err := url.Parse(c.BaseURL)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return nil, errors.New("the API's base URL must be an absolute http or https URL")
		}
		opts = append(opts, option.WithBaseURL(c.BaseURL))
	}
	if c.Credential != "" {
		opts = append(opts, option.WithHeaderDel("X-Api-Key"), option.WithAuthToken(c.Credential))
	}
	return &API{
		sdk:    anthropic.NewClient(opts...),
		http:   client,
		memory: []option.RequestOption{option.WithHeader("anthropic-beta", memoryBeta)},
	}, nil
}

// Close gives idle connections back. The API stays usable.
func (a *API) Close() { a.http.CloseIdleConnections() }

// Store returns the client that reads and writes the store with this id.
func (a *API) Store(id string) store.Client { return &client{reader: reader{api: a, id: id}} }

// Reader returns a client that can only read the store with this id: its type
// has no write methods (R10).
func (a *API) Reader(id string) store.Reader { return &reader{api: a, id: id} }

// maxStores is how many stores of one account are taken.
const maxStores = 100_000

// Stores lists every store that is not archived. It sends one request for
// each hundred of them.
func (a *API) Stores(ctx context.Context) ([]store.Info, error) {
	var infos []store.Info
	page := ""
	for pages := (store.Pages{}); ; {
		params := anthropic.BetaMemoryStoreListParams{Limit: param.NewOpt[int64](store.MaxBasicPage)}
		if page != "" {
			params.Page = param.NewOpt(page)
		}
		res, err := send(ctx, basicAnswer, func(ctx context.Context) (*pagination.PageCursor[anthropic.BetaManagedAgentsMemoryStore], error) {
			return a.sdk.Beta.MemoryStores.List(ctx, params, a.memory...)
		})
		if err == nil {
			err = checkPage(res.JSON.Data, page, res.NextPage)
		}
		if err != nil {
			return nil, fmt.Errorf("list stores: %w", err)
		}
		for _, s := range res.Data {
			info, err := toInfo(s)
			if err != nil {
				return nil, fmt.Errorf("list stores: %w", err)
			}
			infos = append(infos, info)
		}
		more, err := pages.More(res.NextPage, len(res.Data))
		switch {
		case err != nil:
			return nil, fmt.Errorf("list stores: %w", err)
		case !more:
			return infos, nil
		case len(infos) > maxStores:
			return nil, fmt.Errorf("list stores: %w: more than %d", store.ErrProtocol, maxStores)
		}
		page = res.NextPage
	}
}

// CreateStore makes a new store. Names are not unique.
func (a *API) CreateStore(ctx context.Context, name, description string) (store.Info, error) {
	params := anthropic.BetaMemoryStoreNewParams{Name: name}
	if description != "" {
		params.Description = param.NewOpt(description)
	}
	res, err := send(ctx, basicAnswer, func(ctx context.Context) (*anthropic.BetaManagedAgentsMemoryStore, error) {
		return a.sdk.Beta.MemoryStores.New(ctx, params, a.memory...)
	})
	if err != nil {
		return store.Info{}, fmt.Errorf("create store %q: %w", name, err)
	}
	return toInfo(*res)
}

// info reads one store.
func (a *API) info(ctx context.Context, id string) (store.Info, error) {
	if err := checkID(id); err != nil {
		return store.Info{}, fmt.Errorf("store %q: %w: %w", id, store.ErrInvalid, err)
	}
	res, err := send(ctx, basicAnswer, func(ctx context.Context) (*anthropic.BetaManagedAgentsMemoryStore, error) {
		return a.sdk.Beta.MemoryStores.Get(ctx, id, anthropic.BetaMemoryStoreGetParams{}, a.memory...)
	})
	if err == nil {
		err = sameID(id, res.ID)
	}
	if err != nil {
		return store.Info{}, fmt.Errorf("store %s: %w", id, err)
	}
	return toInfo(*res)
}
