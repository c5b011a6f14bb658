package kafka

import (
	"context"
	"crypto/tls"
	"net"
	"testing"
)

// A broker that has no record says nothing for pollWait: who reads does not wait for it once its context has ended.
func TestAReadersConnectionsEndWithItsContext(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	client, err := NewClient(Config{Brokers: []string{silent.Addr().String()}, ClientID: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	ctx, cancel := context.WithCancel(t.Context())
	dial := func() net.Conn {
		t.Helper()
		conn, err := client.readingDialer(ctx).DialFunc(ctx, "tcp", silent.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	closed := dial().(*endingConn)
	if err := closed.Close(); err != nil || closed.keep() {
		t.Errorf("a connection that is closed waits for the context still: %v", err)
	}
	ended := make(chan error, 1)
	waiting := dial()
	go func() {
		_, err := waiting.Read(make([]byte, 1))
		ended <- err
	}()
	cancel()
	if err := <-ended; err == nil {
		t.Error("a silent broker's connection has something to read")
	}
}

// A connection whose handshake fails is closed at once: a reader tries again each second, for as long as its context lasts.
func TestAConnectionWhoseHandshakeFailsIsClosed(t *testing.T) {
	t.Parallel()
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = plain.Close() })
	ended := make(chan error, 1)
	go func() {
		conn, err := plain.Accept()
		if err == nil {
			_, err = conn.Write([]byte("no TLS"))
			for ; err == nil; _, err = conn.Read(make([]byte, 1<<10)) {
			}
			_ = conn.Close()
		}
		ended <- err
	}()
	client, err := NewClient(Config{Brokers: []string{plain.Addr().String()}, ClientID: "test",
		TLS: &tls.Config{MinVersion: tls.VersionTLS12}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	dialer := client.readingDialer(t.Context())
	if _, err := dialer.DialFunc(t.Context(), "tcp", plain.Addr().String()); err == nil || dialer.TLS != nil {
		t.Errorf("a handshake with who speaks no TLS: %v", err)
	}
	if err := <-ended; err == nil {
		t.Error("the connection goes on")
	}
}
