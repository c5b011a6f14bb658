package edge

import (
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// from is a client whose connections come from an address of this machine.
func from(t *testing.T, address string) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	transport := &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: testClient.Timeout}
}

func TestTheSocketsOfOneAddressShutNobodyOut(t *testing.T) {
	s := newStand(t, func(c *Config, _ *Deps) { c.MaxConnections, c.MaxConnsPerIP = 10, 6 })
	testClient.CloseIdleConnections() // of other tests too: they open new ones
	addr := strings.TrimPrefix(s.url, "http://")
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.0.3")}}
	const sockets = 40
	var open []net.Conn
	for range sockets {
		conn, err := dialer.DialContext(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		open = append(open, conn)
	}
	s.eventually("the edge has seen all sockets", func() bool {
		return s.metric("connections_refused_total") == sockets-6
	})
	response, err := from(t, "127.0.0.2").Post(s.url+"/v1/events", "application/json", strings.NewReader(batchOf(pageView(newID()))))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != 200 {
		t.Errorf("another address: %d", response.StatusCode)
	}
	// Sockets that are closed make room for others of the address.
	for _, conn := range open {
		conn.Close()
	}
	s.eventually("the address has room again", func() bool {
		response, err := from(t, "127.0.0.3").Get(s.url + "/healthz")
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == 200
	})
}

// The same with sockets.
func TestTheSocketsOfManyNetworksShutNobodyOut(t *testing.T) {
	s := newStand(t, func(c *Config, _ *Deps) { c.MaxConnections, c.MaxConnsPerIP = 12, 2 })
	testClient.CloseIdleConnections()
	addr := strings.TrimPrefix(s.url, "http://")
	for i := range 30 { // of three networks
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, byte(1+i%3), byte(1+i/6))}}
		conn, err := dialer.DialContext(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte("POST /v1/events HTTP/1.1\r\n")); err != nil {
			t.Fatal(err)
		}
	}
	s.eventually("the edge is full", func() bool { return s.metric("connections_refused_total") >= 18 })
	response, err := from(t, "127.0.7.1").Post(s.url+"/v1/events", "application/json", strings.NewReader(batchOf(pageView(newID()))))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != 200 {
		t.Errorf("another network: %d", response.StatusCode)
	}
}

// A refused body that drips in must not hold its connection: its client sees the
// end, whatever it goes on to send.
func TestARefusedBodyThatDripsInIsCutOff(t *testing.T) {
	s := newStand(t, func(c *Config, _ *Deps) { c.ReadTimeout = 300 * time.Millisecond })
	conn := s.dial()
	if err := conn.SetDeadline(time.Now().Add(testClient.Timeout)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	ticks := time.NewTicker(10 * time.Millisecond)
	defer ticks.Stop()
	for range ticks.C {
		if _, err := conn.Write([]byte("x")); err != nil {
			if os.IsTimeout(err) {
				t.Error("the connection was still open at the test's end")
			}
			return
		}
	}
}

// A connection without requests is closed after its time.
func TestAnIdleConnectionIsClosed(t *testing.T) {
	s := newStand(t, func(c *Config, _ *Deps) { c.IdleTimeout = 100 * time.Millisecond })
	conn := s.dial()
	if err := conn.SetDeadline(time.Now().Add(testClient.Timeout)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200") {
		t.Errorf("%q %v", answer, err)
	}
}
