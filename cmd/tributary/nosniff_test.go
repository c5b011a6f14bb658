package main

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/tributary-io/tributary/test/await"
)

// No answer of connect or of an internal port is taken by a browser for anything but what its Content-Type says.
func TestAnswersOfConnectAndOfInternalPortsAreNotSniffed(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]func(context.Context, net.Listener) error{
		"connect": func(ctx context.Context, l net.Listener) error {
			return serveBounded(ctx, slog.New(slog.DiscardHandler), http.NotFoundHandler(), l, time.Second)
		},
		"internal": func(ctx context.Context, l net.Listener) error { return serveInternal(ctx, http.NotFoundHandler(), l) },
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), await.Long)
		ended := make(chan error, 1)
		go func() { ended <- serve(ctx, l) }()
		answer, err := http.Get("http://" + l.Addr().String() + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s answers %v", name, answer.Header)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(name, err)
		}
	}
}
