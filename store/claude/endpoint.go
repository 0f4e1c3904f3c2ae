package claude

import (
	"net"
	"net/url"
	"strings"
)

// defaultPorts are those that an address need not have.
var defaultPorts = map[string]string{"http": "80", "https": "443"}

// Endpoint names the API at an address, by which the state directory tells one
// from another. It is the same whichever way the address is written, so that
// what was left unsent is found again, and holds no credential: it is kept on
// disk and shown (R19).
func Endpoint(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return address
	}
	e := url.URL{Scheme: strings.ToLower(u.Scheme), Host: strings.ToLower(u.Host), Path: strings.TrimRight(u.Path, "/")}
	if host, port, err := net.SplitHostPort(e.Host); err == nil && port == defaultPorts[e.Scheme] {
		e.Host = host
		if strings.Contains(host, ":") {
			e.Host = "[" + host + "]"
		}
	}
	return e.String()
}
