package sdk

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// checkKey refuses a key that no header can carry, and one that would travel where
// others can read it. Its errors do not contain the key.
func (c *Config) checkKey(endpoint *url.URL) error {
	if c.APIKey == "" {
		return nil
	}
	if strings.ContainsFunc(c.APIKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("sdk: Config.APIKey has a space, a line break or a character outside ASCII")
	}
	if !private(endpoint) {
		return fmt.Errorf("sdk: Config.APIKey needs an https Endpoint: over http, everybody on the way to %q could read the key (only a "+
			"loopback host may use http)", endpoint.Host)
	}
	return nil
}

// private tells whether nobody on the way can read what is sent to u.
func private(u *url.URL) bool {
	host := u.Hostname()
	return u.Scheme == "https" || host == "localhost" || net.ParseIP(host).IsLoopback()
}

// keepKey makes a client answer a redirect to a host in the clear as the last
// response, since net/http would send the key along to the same host.
func keepKey(client *http.Client) *http.Client {
	kept := *client
	next := client.CheckRedirect
	kept.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if !private(r.URL) {
			return http.ErrUseLastResponse
		}
		if next != nil {
			return next(r, via)
		}
		if len(via) >= 10 { // as net/http does
			return errors.New("stopped after 10 redirects")
		}
		return nil
	}
	return &kept
}

// String leaves the API key out, so that a Config may be printed.
func (c Config) String() string {
	key := "none"
	if c.APIKey != "" {
		key = "set"
	}
	return fmt.Sprintf("sdk.Config{CompanyID: %q, Endpoint: %q, APIKey: %s}", c.CompanyID, c.Endpoint, key)
}

// GoString is String, for %#v.
func (c Config) GoString() string { return c.String() }

// LogValue is String, for log/slog.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }
