package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/background"
)

// follow opens a short link and returns the page to which it leads. Of two that open a link within some seconds by one userAgent the
// edge counts one.
func (s *Store) follow(ctx context.Context, link, userAgent string) (page string, err error) {
	response, err := s.doUntil(ctx, http.StatusFound, func() (*http.Request, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, link, nil)
		if err == nil {
			request.Header.Set("User-Agent", userAgent)
		}
		return request, err
	})
	if err != nil {
		return "", err
	}
	landed, err := url.Parse(response.header.Get("Location"))
	if err != nil {
		return "", err
	}
	landed.Scheme, landed.Host = "https", Host // the shop's, not the address that dev replaced it by
	return landed.String(), nil
}

// track sends a batch of events as a browser's SDK would.
func (s *Store) track(ctx context.Context, events []any) error {
	return s.send(ctx, events, http.Header{"Origin": {"https://" + Host}, "User-Agent": {browser}})
}

// send sends a batch of events.
func (s *Store) send(ctx context.Context, events []any, header http.Header) error {
	body, err := json.Marshal(map[string]any{"companyId": s.companyID,
		"sentAt": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), "events": events})
	if err != nil {
		return err
	}
	answer, err := s.doUntil(ctx, http.StatusOK, func() (*http.Request, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.edgeURL+"/v1/events", bytes.NewReader(body))
		if err == nil {
			request.Header = header.Clone()
			request.Header.Set("Content-Type", "application/json")
		}
		return request, err
	})
	if err != nil {
		return err
	}
	if strings.Contains(string(answer.body), `"rejected"`) {
		return fmt.Errorf("the edge rejected a demo event: %s", answer.body)
	}
	return nil
}

// api calls the admin API and decodes the answer's data into into.
func (s *Store) api(ctx context.Context, method, path string, body, into any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	answer, err := s.doUntil(ctx, http.StatusOK, func() (*http.Request, error) {
		request, err := http.NewRequestWithContext(ctx, method, s.adminURL+path, bytes.NewReader(text))
		if err == nil {
			request.Header.Set("Authorization", "Bearer "+s.apiKey)
			request.Header.Set("Content-Type", "application/json")
		}
		return request, err
	})
	if err != nil || into == nil {
		return err
	}
	envelope := struct{ Data any }{into}
	decoder := json.NewDecoder(bytes.NewReader(answer.body))
	decoder.UseNumber()
	return decoder.Decode(&envelope)
}

type answer struct {
	header http.Header
	body   []byte
}

// How long a request is repeated: a link or company just made needs a moment to reach the edge, and an order to be processed; and a
// service that is busy, or does not answer, on a machine that has much else to do, needs longer.
const (
	longestRetry = 20 * time.Second
	longestBusy  = 2 * time.Minute
)

// busy reports whether an answer's status says that the service may take the same request later.
func busy(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}

// doUntil repeats a request until it is answered with the status wanted, for
// longestRetry at most, or for longestBusy where the service is busy. A request that is answered 400 is not repeated.
func (s *Store) doUntil(ctx context.Context, want int, make func() (*http.Request, error)) (answer, error) {
	began := time.Now()
	for {
		request, err := make()
		if err != nil {
			return answer{}, err
		}
		response, err := s.client.Do(request)
		longest, wait := longestBusy, 250*time.Millisecond
		if err == nil {
			var body []byte
			body, err = io.ReadAll(io.LimitReader(response.Body, 4<<20))
			_ = response.Body.Close() // it was read, or its error counts
			if err == nil && response.StatusCode == want {
				return answer{response.Header, body}, nil
			}
			if err == nil {
				err = fmt.Errorf("%s %s: %s: %s", request.Method, request.URL, response.Status, body)
			}
			if response.StatusCode == http.StatusBadRequest {
				return answer{}, err
			}
			if !busy(response.StatusCode) {
				longest, wait = longestRetry, 50*time.Millisecond
			}
		}
		if time.Since(began) > longest {
			return answer{}, err
		}
		if !background.Sleep(ctx, wait) {
			return answer{}, errors.Join(ctx.Err(), err)
		}
	}
}
