package platform_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

func TestAPlatformsOwnHeaderSaysHowLongToWaitAfter429(t *testing.T) {
	for name, c := range map[string]struct {
		header string
		want   time.Duration
	}{"its own": {"X-Reset", 40 * time.Second}, "Retry-After goes first": {"Retry-After", 50 * time.Second}} {
		asked := 0
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked++
			w.Header().Set(c.header, "50")
			w.WriteHeader(http.StatusTooManyRequests)
		}))
		defer web.Close()
		client := platform.NewClient(platform.Limits{PerSecond: 100, Burst: 100,
			Wait: func(http.Header) time.Duration { return 40 * time.Second }},
			platform.Options{UserAgent: "x", Rewrite: map[string]string{"shop.example": web.URL}})
		defer client.Close()
		_, err := client.Do(t.Context(), platform.Request{Method: http.MethodGet, URL: "https://shop.example/"})
		var failed *platform.Error
		if !errors.As(err, &failed) || failed.Reason != commerce.ShopLimited || failed.RetryAfter != c.want || asked != 1 {
			t.Errorf("%s: %+v after %d requests", name, failed, asked)
		}
	}
}
