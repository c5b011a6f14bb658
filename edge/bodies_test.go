package edge

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/edge/guard"
	"github.com/tributary-io/tributary/internal/wire"
)

// announce begins a request with a body of 1 MiB, of which the first bytes are sent.
func (s *stand) announce(sent int, headers ...string) net.Conn {
	s.t.Helper()
	conn := s.dial()
	lines := strings.Join(append(headers, "Content-Length: 1048576"), "\r\n")
	if _, err := fmt.Fprintf(conn, "POST /v1/events HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n%s", lines, strings.Repeat(" ", sent)); err != nil {
		s.t.Fatal(err)
	}
	return conn
}

// answerOf reads the answer of a request that has begun.
func (s *stand) answerOf(conn net.Conn) (*http.Response, answerBody) {
	s.t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	var answer answerBody
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		s.t.Fatal(err)
	}
	return response, answer
}

func heap() int {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

// waiting is how many goroutines wait for bytes of a body.
func waiting() int {
	stacks := make([]byte, 64<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	n := 0
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if strings.Contains(stack, "[IO wait") &&
			(strings.Contains(stack, "fasthttp.appendBodyFixedSize(") || strings.Contains(stack, ".readBody(")) {
			n++
		}
	}
	return n
}

// Who announces a large body holds memory for what has arrived of it.
func TestAnAnnouncedBodyTakesNoMemory(t *testing.T) {
	s := newStand(t, nil)
	const clients = 300
	before := heap()
	for range clients {
		s.announce(1)
	}
	s.eventually("all requests wait for their bodies", func() bool { return waiting() >= clients })
	if grown := heap() - before; grown > clients*256<<10 { // what a connection takes is in it, and what tests beside this one take
		t.Errorf("%d clients that sent one byte of 1 MiB hold %d MiB", clients, grown>>20)
	}
}

// Bodies that arrive slowly share a bound, in which each network has its part, and each
// company that shows an API key. Small ones are always taken.
func TestBodiesThatArriveShareABound(t *testing.T) {
	s := newStand(t, func(c *Config, _ *Deps) {
		c.MaxBodies = 3 << 20 // of each network one body of the largest size
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	s.publishKey("backend", wire.APIKey{Scopes: []string{wire.ScopeWriteEvents}})
	s.eventually("the key is known", func() bool { return s.edge.directory.apiKey(wire.APIKeyHash("backend")) != nil })
	of := func(network string) string { return "X-Forwarded-For: " + network }
	open, keyed := s.edge.openBodies, s.edge.keyedBodies
	const held = 1<<20 - guard.FreeBody // of a body that has more than half arrived

	first := s.announce(600<<10, of("203.0.113.7"))
	s.eventually("the first is taken", func() bool { return open.Held() == held })
	response, answer := s.answerOf(s.announce(600<<10, of("203.0.113.8"), "Origin: "+testOrigin))
	if response.StatusCode != 503 || answer.Error.Code != "unavailable" || response.Header.Get("Retry-After") == "" || !response.Close ||
		response.Header.Get("Access-Control-Allow-Origin") != testOrigin {
		t.Errorf("a second of the same network: %d %+v %v", response.StatusCode, answer, response.Header)
	}
	if n := s.metric("bodies_refused_total"); n != 1 {
		t.Errorf("the metrics count %v", n)
	}
	s.post(200, batchOf(pageView(newID())), of("203.0.113.8"))
	second, third := s.announce(600<<10, of("198.51.100.7")), s.announce(600<<10, of("192.0.2.7"))
	s.eventually("two other networks' are taken", func() bool { return open.Held() == 3*held })
	if response, _ := s.answerOf(s.announce(600<<10, of("100.64.0.7"))); response.StatusCode != 503 {
		t.Errorf("beyond the bound of all: %d", response.StatusCode)
	}
	large := strings.Repeat(" ", 900<<10) + batchOf(pageView(newID()))
	s.post(200, large, by("backend"), of("203.0.113.8"))
	if keyed.Held() != 0 {
		t.Errorf("a body that was answered still holds %d bytes", keyed.Held())
	}

	// What a body took is there again once its client has gone, or its rest has come.
	for _, conn := range []net.Conn{second, third} {
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s.eventually("two have gone", func() bool { return open.Held() == held })
	body := strings.Repeat(" ", 424<<10)
	event := batchOf(pageView(newID()))
	if _, err := io.WriteString(first, body[:len(body)-len(event)]+event); err != nil {
		t.Fatal(err)
	}
	if response, answer := s.answerOf(first); response.StatusCode != 200 || len(answer.Results) != 1 {
		t.Errorf("a body that came slowly: %d %+v", response.StatusCode, answer)
	}
	s.eventually("all is given back", func() bool { return open.Held() == 0 })
	s.post(200, large, of("203.0.113.8"))
}

// A request whose body was not read to its end is the last of its connection: what follows
// may be the rest of it.
func TestWhatFollowsAnUnreadBodyIsNoRequest(t *testing.T) {
	s := newStand(t, nil)
	inside := "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
	f := func(what, request, status string) {
		t.Helper()
		conn := s.dial()
		if err := conn.SetDeadline(time.Now().Add(testClient.Timeout)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		if half, ok := conn.(*net.TCPConn); !ok || half.CloseWrite() != nil {
			t.Fatal("the connection cannot be closed for writing")
		}
		answers, err := io.ReadAll(conn)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(answers), "HTTP/1.1 "); n != 1 || !strings.HasPrefix(string(answers), "HTTP/1.1 "+status) {
			t.Errorf("%s: %d answers, %.300q", what, n, answers)
		}
	}
	small := batchOf(pageView(newID()))
	f("a body that ends early", "POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 20000\r\n\r\n"+small+strings.Repeat(" ", 9000), "400")
	f("one in chunks that ends early",
		"POST /v1/events HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"+fmt.Sprintf("%x\r\n%s\r\n", len(small)-1, small[1:]), "400")
	f("a broken chunk", "POST /v1/events HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"+inside, "400")
	f("one that is too large",
		"POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n"+strings.Repeat(" ", guard.FreeBody)+inside, "413")
	f("one in chunks that is too large",
		"POST /v1/events HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"+strings.Repeat(fmt.Sprintf("%x\r\n%s\r\n", 64<<10,
			strings.Repeat(" ", 64<<10)), 17)+inside, "413")
	f("a route without a body", "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 20000\r\n\r\n"+inside+strings.Repeat(" ", 9000), "400")
}
