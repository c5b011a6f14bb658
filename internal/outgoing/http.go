package outgoing

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"time"
	"unicode"

	"code.dny.dev/ssrf"

	"github.com/tributary-io/tributary/internal/commerce"
)

// Bounds of a request.
const (
	dialTimeout = 10 * time.Second
	maxHeader   = 64 << 10
)

// NewClient makes a client of strangers' servers, whose requests take at most timeout, so many to one at once. Each address is checked
// when it is dialled, so a name cannot change between check and use. No proxy is asked, and no redirect is followed. allow lets
// addresses of this machine through: for tests alone.
func NewClient(timeout time.Duration, parallel int, allow bool) *http.Client {
	dialer := &net.Dialer{Timeout: dialTimeout}
	if !allow {
		dialer.Control = ssrf.New(ssrf.WithPorts(443)).Safe // and public addresses
	}
	return &http.Client{
		Timeout: timeout,
		Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: parallel, IdleConnTimeout: 30 * time.Second,
			ForceAttemptHTTP2: true, MaxResponseHeaderBytes: maxHeader,
			TLSHandshakeTimeout: dialTimeout},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Printable is a text of a stranger as it is kept: a part of a character at its end goes, and what does not print is a space.
func Printable(text []byte) string {
	shown := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(string(text), ""))
	return strings.Join(strings.Fields(shown), " ")
}

// FailureOf is why no answer came.
func FailureOf(err error) string {
	var timeout net.Error
	switch {
	case errors.Is(err, ssrf.ErrProhibitedIP) || errors.Is(err, ssrf.ErrProhibitedPort) || errors.Is(err, ssrf.ErrProhibitedNetwork):
		return commerce.TryAddress
	case errors.As(err, &timeout) && timeout.Timeout():
		return commerce.TryTimeout
	}
	return commerce.TryNoAnswer
}
