package demo

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// service answers as a function of how long it is asked; 0: it does not answer.
type service func(since time.Duration) (status int)

// RoundTrip implements http.RoundTripper.
func (s service) RoundTrip(*http.Request) (*http.Response, error) {
	status := s(time.Since(began))
	if status == 0 {
		return nil, errors.New("connection refused")
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

// began is when a bubble's clock begins.
var began = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// A machine that has much else to do holds up the demo store, and a service that is busy for a minute or begins again does not end it. What
// no time mends ends it sooner.
func TestTheDemoStoreWaitsForAServiceThatIsBusy(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		answers service
		taken   bool
		least   time.Duration // that it is tried for
		most    time.Duration
	}{
		"busy for a minute":  {until(time.Minute, http.StatusServiceUnavailable), true, time.Minute, 61 * time.Second},
		"away for a minute":  {until(time.Minute, 0), true, time.Minute, 61 * time.Second},
		"busy for ever":      {until(time.Hour, http.StatusServiceUnavailable), false, longestBusy, longestBusy + time.Second},
		"not there":          {until(time.Hour, http.StatusNotFound), false, longestRetry, longestRetry + time.Second},
		"broken for a while": {until(time.Hour, http.StatusInternalServerError), false, longestRetry, longestRetry + time.Second},
		"wrong":              {until(time.Hour, http.StatusBadRequest), false, 0, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &Store{adminURL: "http://admin", client: &http.Client{Transport: c.answers}}
				err := s.api(t.Context(), http.MethodGet, "/costs", nil, nil)
				if took := time.Since(began); (err == nil) != c.taken || took < c.least || took > c.most {
					t.Errorf("after %v: %v", took, err)
				}
			})
		})
	}
}

func until(end time.Duration, status int) service {
	return func(since time.Duration) int {
		if since < end {
			return status
		}
		return http.StatusOK
	}
}
