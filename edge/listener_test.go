package edge

import (
	"bufio"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tributary-io/tributary/test/await"
)

// With TLS, a connection too many must not be answered by whoever accepts: the answer
// would wait for the client's handshake, and nobody else would be let in meanwhile.
func TestAConnectionTooManyHoldsUpNobody(t *testing.T) {
	const most = 2
	s := newStand(t, func(c *Config, _ *Deps) {
		c.TLS, c.MaxConnections, c.MaxConnsPerIP, c.ReadTimeout = testTLS(t), most, -1, time.Hour
	})
	address := strings.TrimPrefix(s.url, "http://")
	var mute []net.Conn // they never shake hands
	for range most + 1 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		mute = append(mute, conn)
	}
	for _, conn := range mute[:most] {
		conn.Close()
	}
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // it is signed by itself
	}}
	s.eventually("there is room again", func() bool {
		response, err := client.Get("https://" + address + "/healthz")
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == 200
	})
}

// exhausted is a listener of a process that has no file descriptor left for a while.
type exhausted struct {
	net.Listener
	mu   sync.Mutex
	left []error
}

func (e *exhausted) Accept() (net.Conn, error) {
	e.mu.Lock()
	if len(e.left) > 0 {
		err := e.left[0]
		e.left = e.left[1:]
		e.mu.Unlock()
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: err}
	}
	e.mu.Unlock()
	return e.Listener.Accept()
}

// Whoever opens many connections must not end the edge.
func TestAnEdgeOutlivesAShortageOfFileDescriptors(t *testing.T) {
	var log await.Buffer
	s := benchServer(t)
	s.deps.Logger = slog.New(slog.NewTextHandler(&log, nil))
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	listener := s.open.Bounded(&exhausted{Listener: inner, left: []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM}},
		s.deps.Logger)
	client, err := net.Dial("tcp", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn, err := listener.Accept()
	if err != nil {
		t.Fatalf("the edge would have ended: %v", err)
	}
	conn.Close()
	if text := log.String(); !strings.Contains(text, "too many open files") {
		t.Errorf("the log says %q", text)
	}
	inner.Close()
	if _, err := listener.Accept(); err == nil {
		t.Error("a closed listener accepts")
	}
}

// A connection's first answer must have been sent by a deadline. The next one has its own,
// also where fasthttp sets none: after what it could not read, and before a body that
// the client asks whether to send.
func TestALaterAnswerHasADeadlineOfItsOwn(t *testing.T) {
	s := newStand(t, func(c *Config, _ *Deps) { c.WriteTimeout = 50 * time.Millisecond })
	f := func(request, want string) {
		t.Helper()
		conn := s.dial()
		if err := conn.SetDeadline(time.Now().Add(await.Long)); err != nil {
			t.Fatal(err)
		}
		answers := bufio.NewReader(conn)
		ask := func(request, want string) {
			t.Helper()
			if _, err := conn.Write([]byte(request)); err != nil {
				t.Fatal(err)
			}
			if line, err := answers.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 "+want) {
				t.Fatalf("%.40q: %q %v, want %s", request, line, err, want)
			}
		}
		ask("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", "200")
		for line := "-"; strings.TrimSpace(line) != ""; {
			next, err := answers.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			line = next
		}
		if _, err := answers.Discard(len(healthy)); err != nil {
			t.Fatal(err)
		}
		s.eventually("the first answer's deadline has passed", func() bool { return s.edge.open.Late(conn.LocalAddr()) })
		ask(request, want)
	}
	f("NO HTTP AT ALL\r\n\r\n", "400")
	f("POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n{", "413")
	f("POST /v1/events HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n", "100")
	f("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", "200")
}
