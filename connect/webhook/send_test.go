package webhook

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/outgoing"
)

type noDatabase struct{ outgoing.Database }

func newSender(t *testing.T, local bool) *Sender {
	t.Helper()
	keys, err := account.NewSealKeys()
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Config{AllowLocal: local}, Deps{Database: noDatabase{}, Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.client.CloseIdleConnections)
	return s
}

// message is one that waits.
var message = commerce.Message{Number: 7, Key: "order:1", Type: commerce.PayoutChanged, ID: "msg_1", At: time.Unix(1700000000, 5000).UTC(),
	Data: json.RawMessage(`{"orderId":"1"}`)}

// Where a host is led to a program on this machine, for trying out, other addresses of this machine stay closed.
func TestOneHostIsLedToThisMachine(t *testing.T) {
	t.Parallel()
	s := newSender(t, false)
	var got atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got.Store(r.Method + " " + r.URL.Path + " " + r.Header.Get("Webhook-Id"))
	}))
	t.Cleanup(server.Close)
	t.Cleanup(s.local.CloseIdleConnections)
	s.config.Options.Rewrite = map[string]string{"erp.example.com": server.URL}
	r := s.send(t.Context(), commerce.LeasedDestination{URL: "https://erp.example.com/hook"}, []string{vectorSecret}, message)
	if r.Try.Failure != "" || r.Try.Status != http.StatusOK || got.Load() != "POST /hook msg_1" {
		t.Errorf("%+v, got %v", r, got.Load())
	}
	for _, url := range []string{server.URL, strings.Replace(server.URL, "http:", "https:", 1)} {
		if r := s.send(t.Context(), commerce.LeasedDestination{URL: url}, []string{vectorSecret}, message); r.Try.Failure != commerce.TryAddress {
			t.Errorf("%s: %+v", url, r.Try)
		}
	}
}

// An endpoint's address is whatever a merchant types, and its name can lead anywhere by the time it is dialled.
func TestAddressesInsideAreNotDialled(t *testing.T) {
	t.Parallel()
	s := newSender(t, false)
	for _, url := range []string{"https://127.0.0.1/", "https://localhost/", "https://[::1]/", "https://[::ffff:127.0.0.1]/",
		"https://10.0.0.1/",
		"https://172.16.0.1/", "https://192.168.1.1/", "https://169.254.169.254/latest/meta-data/", "https://[fe80::1]/",
		"https://[fd00:ec2::254]/",
		"https://100.64.0.1/", "https://0.0.0.0/", "https://[::]/", "https://224.0.0.1/", "https://255.255.255.255/", "https://192.0.2.1/",
		"https://[64:ff9b::7f00:1]/", "https://[2002:7f00:1::]/", "https://2130706433/", "https://0x7f000001/", "http://example.com/",
		"https://1.1.1.1:8443/", "https://1.1.1.1:80/", "ftp://example.com/", "gopher://127.0.0.1/"} {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		r := s.send(ctx, commerce.LeasedDestination{URL: url}, []string{vectorSecret}, message)
		cancel()
		// A name that no resolver knows, as 0x7f000001 may be, is no address.
		if r.Try.Failure != commerce.TryAddress && (r.Try.Failure != commerce.TryNoAnswer || !strings.Contains(url, "0x7f") &&
			!strings.Contains(url, "2130706433")) {
			t.Errorf("%s: %+v", url, r.Try)
		}
	}
}

// After this answer the connection is another protocol's: it has no end by itself.
func TestAnAnswerThatSwitchesProtocolsHoldsNobody(t *testing.T) {
	t.Parallel()
	ends := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		<-ends
	}))
	defer server.Close()
	defer close(ends)
	s := newSender(t, true)
	sent := make(chan outgoing.Result, 1)
	go func() {
		sent <- s.send(t.Context(), commerce.LeasedDestination{URL: server.URL}, []string{vectorSecret}, message)
	}()
	select {
	case r := <-sent:
		if r.Try.Status != 101 || r.Try.Failure != commerce.TryStatus {
			t.Errorf("%+v", r)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it is still read")
	}
}

func TestWhatBecomesOfAnswers(t *testing.T) {
	t.Parallel()
	var status atomic.Int32
	var header, value string
	var seen *http.Request
	var body []byte
	var elsewhere atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/hook" {
			elsewhere.Add(1)
		}
		seen = r
		body, _ = io.ReadAll(r.Body)
		if header != "" {
			w.Header().Set(header, value)
		}
		w.WriteHeader(int(status.Load()))
		if status.Load() == 400 {
			_, _ = io.WriteString(w, "bad\x00 \x1b[31msignature\u202e\n"+strings.Repeat("é", 300))
		}
		if status.Load() == 200 { // without an end
			for range 10_000 {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		}
	}))
	defer server.Close()
	s := newSender(t, true)
	send := func(code int, name, text string) outgoing.Result {
		status.Store(int32(code))
		header, value = name, text
		return s.send(t.Context(), commerce.LeasedDestination{URL: server.URL + "/hook"}, []string{vectorSecret}, message)
	}
	if r := send(204, "", ""); r.Try.Failure != "" || r.Try.Status != 204 {
		t.Errorf("%+v", r)
	}
	const want = `{"type":"payout.changed","timestamp":"2023-11-14T22:13:20.000005Z","data":{"sequence":7,"orderId":"1"}}`
	if string(body) != want {
		t.Errorf("the body is %s", body)
	}
	if seen.Header.Get("Webhook-Id") != "msg_1" || !strings.HasPrefix(seen.Header.Get("Webhook-Signature"), "v1,") ||
		seen.Header.Get("Webhook-Timestamp") == "" {
		t.Errorf("%v", seen.Header)
	}
	began := time.Now()
	if r := send(200, "", ""); r.Try.Failure != "" || time.Since(began) > 5*time.Second {
		t.Errorf("a body without end: %+v", r)
	}
	if r := send(302, "Location", server.URL+"/other"); r.Try.Failure != commerce.TryRedirect || elsewhere.Load() != 0 {
		t.Errorf("a redirect: %+v, followed %d times", r, elsewhere.Load())
	}
	if r := send(400, "", ""); !strings.HasPrefix(r.Try.Answer, "bad [31msignature é") || len(r.Try.Answer) > keptAnswer ||
		!utf8.ValidString(r.Try.Answer) || strings.HasSuffix(r.Try.Answer, "\ufffd") {
		t.Errorf("what is kept of the answer: %q", r.Try.Answer)
	}
	if r := send(410, "", ""); !r.Gone || r.Try.Failure != commerce.TryStatus {
		t.Errorf("410: %+v", r)
	}
	if r := send(429, "Retry-After", "120"); !r.Slow || r.Wait != 2*time.Minute {
		t.Errorf("429: %+v", r)
	}
	if r := send(503, "Retry-After", "999999999"); r.Wait != time.Hour {
		t.Errorf("a wait without end: %+v", r)
	}
	server.Close()
	if r := send(204, "", ""); r.Try.Failure != commerce.TryNoAnswer {
		t.Errorf("no server: %+v", r)
	}
	if r := s.send(t.Context(), commerce.LeasedDestination{URL: server.URL}, nil, message); r.Try.Failure != commerce.TryNoSecret {
		t.Errorf("without a secret: %+v", r)
	}
}
