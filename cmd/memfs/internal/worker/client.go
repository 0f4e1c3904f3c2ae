package worker

import (
	"context"
	"net/http"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"
	"go.uber.org/zap"
)

const (
	// stopTimeout bounds the telling of the queue that an item is done with.
	stopTimeout = 10 * time.Second
	// requestTimeout bounds other requests than streams.
	requestTimeout = 30 * time.Second
)

// newTransport is one for a session's requests alone.
func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 32 // contents are fetched in parallel
	return t
}

// newClient is an SDK client with one credential, whatever the environment
// says.
func newClient(baseURL, credential string, transport http.RoundTripper) anthropic.Client {
	return anthropic.NewClient(
		option.WithBaseURL(baseURL),
		option.WithHTTPClient(&http.Client{Transport: bounded{transport}}),
		option.WithHeaderDel("X-Api-Key"),
		option.WithAuthToken(credential),
	)
}

// stopWork tells the queue that the item is done with. That it is stopped
// already is success.
func stopWork(client anthropic.Client, item Item, log *zap.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	// The answer has no body, which the SDK cannot decode.
	var raw *http.Response
	_, err := client.Beta.Environments.Work.Stop(ctx, item.ID, anthropic.BetaEnvironmentWorkStopParams{
		EnvironmentID:                 item.EnvironmentID,
		BetaSelfHostedWorkStopRequest: anthropic.BetaSelfHostedWorkStopRequestParam{Force: param.NewOpt(true)},
	}, option.WithResponseBodyInto(&raw))
	if raw != nil {
		_ = raw.Body.Close()
	}
	if err != nil && statusOf(err) != http.StatusConflict {
		log.Warn("force-stop on exit failed", zap.String("code", "stop_failed"), zap.Error(err))
	}
}
