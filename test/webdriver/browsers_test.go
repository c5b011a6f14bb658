//go:build browsers

package webdriver_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/tributary-io/tributary/test/webdriver"
)

func TestTabs(t *testing.T) {
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("<!doctype html><title>" + r.URL.Path + "</title>"))
	}))
	defer shop.Close()
	f := func(name string, open func(context.Context) (webdriver.Browser, error)) {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			b, err := open(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := b.Close(); err != nil {
					t.Error(err)
				}
			}()
			for _, path := range []string{"/one", "/two"} {
				tab, err := b.Tab(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if err := tab.Navigate(ctx, shop.URL+path); err != nil {
					t.Fatal(err)
				}
				var got struct {
					Title string
					Sum   int
				}
				if err := tab.Eval(ctx, &got, `async (a, b) => ({title: document.title, sum: a + b})`, 1, 2); err != nil ||
					got.Title != path || got.Sum != 3 {
					t.Errorf("%+v, %v", got, err)
				}
				if err := tab.Eval(ctx, nil, `() => { throw new Error("no") }`); err == nil {
					t.Error("a script's error is lost")
				}
				if err := tab.Close(ctx); err != nil {
					t.Error(err)
				}
			}
			t.Log(b.Offline(ctx, true))
		})
	}
	f("Firefox", func(ctx context.Context) (webdriver.Browser, error) {
		return webdriver.Firefox(ctx, t.TempDir(), false)
	})
	f("WebKitGTK", webdriver.WebKit)
}
