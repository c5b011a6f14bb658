package sdk

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

const testKey = "trb_live_secret"

func TestAnAPIKeyIsSentWithEachRequest(t *testing.T) {
	e := newEdge(t, func(_ int, r request, w http.ResponseWriter) { accept(r, w, ok) })
	var sent atomic.Value
	handler := e.Config.Handler
	e.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent.Store(fmt.Sprint(r.Header["Authorization"]))
		handler.ServeHTTP(w, r)
	})
	f := func(key, want string) {
		t.Helper()
		c, _ := client(t, e, func(cfg *Config) { cfg.APIKey = key })
		track(t, c, 1)
		flush(t, c)
		if got := sent.Load(); got != want {
			t.Errorf("Authorization %v, want %s", got, want)
		}
	}
	f(testKey, "[Bearer "+testKey+"]")
	f("", "[]")
}

func TestAKeyNeverTravelsInTheClear(t *testing.T) {
	f := func(endpoint, key string, taken bool) {
		t.Helper()
		c, err := New(Config{CompanyID: "loja", Endpoint: endpoint, APIKey: key})
		if err == nil {
			_ = c.Close(context.Background())
		}
		if (err == nil) != taken {
			t.Errorf("%s: %v", endpoint, err)
		}
		if err != nil && strings.Contains(err.Error(), "trb_live") {
			t.Errorf("the error shows the key: %v", err)
		}
	}
	f("https://t.example.com", testKey, true)
	f("http://t.example.com", "", true)
	f("http://localhost:8080", testKey, true)
	f("http://127.0.0.1:8080", testKey, true)
	f("http://[::1]:8080", testKey, true)
	f("http://t.example.com", testKey, false)
	f("http://10.0.0.1", testKey, false)
	f("http://localhost.example.com", testKey, false)
	f("https://t.example.com", testKey+"\n", false)
	f("https://t.example.com", testKey+" x", false)
}

// net/http sends a key along to the same host, also from https to http.
func TestARedirectIntoTheClearIsNotFollowed(t *testing.T) {
	for _, given := range []*http.Client{nil, {}} {
		var asked atomic.Value
		transport := roundTrip(func(r *http.Request) (*http.Response, error) {
			asked.Store(r.URL.String())
			w := httptest.NewRecorder()
			w.Header().Set("Location", "http://t.example.com/v1/events")
			w.WriteHeader(http.StatusTemporaryRedirect)
			return w.Result(), nil
		})
		cfg := Config{CompanyID: "loja", Endpoint: "https://t.example.com", APIKey: testKey, HTTPClient: given, MaxAttempts: 1}
		if given != nil {
			given.Transport = transport
		}
		c, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		c.http.Transport = transport
		track(t, c, 1)
		_ = c.Close(t.Context())
		if got := asked.Load(); got != "https://t.example.com/v1/events" {
			t.Errorf("asked %v", got)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestAPrintedConfigDoesNotShowTheKey(t *testing.T) {
	cfg := Config{CompanyID: "loja", APIKey: testKey}
	for _, text := range []string{fmt.Sprintf("%v", cfg), fmt.Sprintf("%+v", cfg), fmt.Sprintf("%#v", cfg), fmt.Sprintf("%+v", &cfg),
		cfg.LogValue().String()} {
		if strings.Contains(text, testKey) || !strings.Contains(text, "loja") {
			t.Error(text)
		}
	}
}
