package edge

import (
	"bufio"
	"net/http"
	"testing"
	"time"

	"github.com/tributary-io/tributary/sdk/core"
)

// Every answer has an id that says when it was given, also of what is no request.
func TestEveryAnswerHasATimedRequestID(t *testing.T) {
	s := newStand(t, nil)
	f := func(request string, status int) {
		t.Helper()
		conn := s.dial()
		if err := conn.SetDeadline(time.Now().Add(testClient.Timeout)); err != nil {
			t.Fatal(err)
		}
		began := time.Now().UnixMilli()
		if _, err := conn.Write([]byte(request)); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		id := response.Header.Get("X-Request-Id")
		at := core.UUIDv7Time(id)
		if response.StatusCode != status || !core.ValidUUIDv7(id) || at < began-1000 || at > time.Now().UnixMilli()+1000 {
			t.Errorf("%q: %d, id %q", request, response.StatusCode, id)
		}
	}
	f("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", 200)
	f("GET /nowhere HTTP/1.1\r\nHost: x\r\nX-Request-Id: +5511987654321\r\n\r\n", 404)
	f("no request at all\r\n\r\n", 400)
}

func TestRequestIDsDiffer(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		id := string(appendRequestID(nil, time.Now()))
		if seen[id] || !core.ValidUUIDv7(id) {
			t.Fatalf("%q", id)
		}
		seen[id] = true
	}
}
