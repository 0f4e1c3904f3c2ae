package claude_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"memfs/store/claude"
)

// R15: what was left unsent is found again by the endpoint.
func TestR15_AnEndpointIsTheSameHoweverItIsWritten(t *testing.T) {
	for want, addresses := range map[string][]string{
		"https://api.anthropic.com": {"https://api.anthropic.com", "https://api.anthropic.com/", "HTTPS://API.Anthropic.com:443//"},
		"http://127.0.0.1:8080":     {"http://127.0.0.1:8080", "http://127.0.0.1:8080/"},
		"http://[::1]":              {"http://[::1]:80/", "http://[::1]"},
		"http://gateway/claude/V1":  {"http://gateway/claude/V1", "http://gateway:80/claude/V1/"},
		"http://gateway:443":        {"http://gateway:443"},
	} {
		for _, address := range addresses {
			assert.Equal(t, want, claude.Endpoint(address), address)
		}
	}
}

func TestR19_AnEndpointHoldsNoCredential(t *testing.T) {
	assert.Equal(t, "https://gateway", claude.Endpoint("https://user:password@gateway/?key=secret#secret"))
}
