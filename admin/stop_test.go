package admin_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/internal/wire"
)

// slowKafka takes a record only when it is let.
type slowKafka struct{ entered, release chan struct{} }

func (k slowKafka) Produce(ctx context.Context, _ string, _ ...wire.Record) error {
	select {
	case k.entered <- struct{}{}:
	default: // the test knows
	}
	select {
	case <-k.release:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestStopFinishesTheRequestsInFlight(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{}) // for its store and key
	kafka := slowKafka{make(chan struct{}, 1), make(chan struct{})}
	server, err := admin.New(admin.Config{ShortBase: "go.example.com"}, admin.Deps{Database: s.db, Producer: kafka, Hasher: s.hasher})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	served, answered := make(chan error, 1), make(chan string, 1)
	go func() { served <- server.Serve(ctx, listener, server) }()
	go func() {
		request, err := http.NewRequest("POST", "http://"+listener.Addr().String()+"/admin/v1/order", strings.NewReader(order1001))
		if err != nil {
			answered <- err.Error()
			return
		}
		request.Header.Set("Authorization", "Bearer "+s.live)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			answered <- err.Error()
			return
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		answered <- response.Status + " " + string(body)
	}()
	<-kafka.entered
	stop()
	for { // until new connections are refused: the stop has begun
		conn, err := net.DialTimeout("tcp", listener.Addr().String(), time.Second)
		if err != nil {
			break
		}
		conn.Close()
	}
	close(kafka.release)
	if got := <-answered; !strings.HasPrefix(got, "200") || !strings.Contains(got, `"success":true`) {
		t.Errorf("the request in flight: %s", got)
	}
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
}
