package webhook

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/outgoing"
)

// Bounds of a request.
const (
	requestTimeout = 20 * time.Second
	parallel       = 16       // requests to one endpoint at once
	maxAnswer      = 64 << 10 // bytes of an answer that are read, so that its connection can be used again
	keptAnswer     = 200      // of them, where it is no 2xx: for who looks what is wrong
)

// send makes one request.
func (s *Sender) send(ctx context.Context, e commerce.LeasedDestination, secrets []string, m commerce.Message) (r outgoing.Result) {
	began := s.now()
	defer func() { s.metrics.sent(r) }()
	body, err := m.Body()
	signature := ""
	if err == nil {
		signature, err = Sign(secrets, m.ID, began, body)
	}
	if err != nil {
		r.Try.Failure = commerce.TryNoSecret
		return r
	}
	url, client := s.config.Options.Rewritten(e.URL), s.client
	if url != e.URL {
		client = s.local
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil || request.URL.Scheme != "https" && client != s.local {
		r.Try.Failure = commerce.TryAddress
		return r
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", s.config.Options.UserAgent)
	request.Header.Set("Webhook-Id", m.ID)
	request.Header.Set("Webhook-Timestamp", strconv.FormatInt(began.Unix(), 10))
	request.Header.Set("Webhook-Signature", signature)
	response, err := client.Do(request)
	if err != nil {
		r.Try.Failure = outgoing.FailureOf(err)
		r.Ended = ctx.Err() != nil
		return r
	}
	defer response.Body.Close()
	var begin []byte
	if response.StatusCode >= 200 { // after 101 the body is the connection itself, whose reading no timeout ends
		// The status is what counts: how much can be read of the rest does not matter.
		begin, _ = io.ReadAll(io.LimitReader(response.Body, keptAnswer))
		_, _ = io.CopyN(io.Discard, response.Body, maxAnswer-keptAnswer)
	}
	r.Try.Status, r.Wait = response.StatusCode, asked(response.StatusCode, response.Header, s.now())
	r.Gone, r.Slow = response.StatusCode == http.StatusGone, slow(response.StatusCode)
	if response.StatusCode/100 != 2 {
		r.Try.Answer = outgoing.Printable(begin)
	}
	switch response.StatusCode / 100 {
	case 2:
	case 3:
		r.Try.Failure = commerce.TryRedirect
	default:
		r.Try.Failure = commerce.TryStatus
	}
	return r
}

// asked is how long the receiver of an answer wants to be left alone, an hour at most; 0: it does not say.
func asked(status int, header http.Header, now time.Time) time.Duration {
	if status/100 == 2 {
		return 0
	}
	return platform.RetryAfter(header, now)
}

// slow reports whether an answer asks to send less to the endpoint as a whole.
func slow(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusBadGateway || status == http.StatusServiceUnavailable ||
		status == http.StatusGatewayTimeout
}
