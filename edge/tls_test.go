package edge

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/test/await"
)

// testTLS is a configuration with a certificate signed by itself.
func testTLS(t *testing.T) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"edge.example"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}

// Events, refusals, what is no HTTP, a handshake that never comes, and the end with
// a connection still open: all as without TLS.
func TestTheEdgeServesHTTPSItself(t *testing.T) {
	s := newStand(t, func(c *Config, _ *Deps) { c.TLS, c.ReadTimeout = testTLS(t), time.Second })
	address := strings.TrimPrefix(s.url, "http://")
	strict := func(what string, status, want int, h http.Header) {
		t.Helper()
		if status != want || h.Get("Strict-Transport-Security") != "max-age=31536000" || h.Get("X-Request-Id") == "" {
			t.Errorf("%s: %d, want %d: %v", what, status, want, h)
		}
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // it is signed by itself
	for body, want := range map[string]int{batchOf(pageView(newID())): 200, "{": 400, strings.Repeat(" ", 1<<20+1): 413} {
		response, err := client.Post("https://"+address+"/v1/events", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		strict("a body of "+body[:1], response.StatusCode, want, response.Header)
	}

	mute, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	if err := mute.SetReadDeadline(time.Now().Add(await.Long)); err != nil {
		t.Fatal(err)
	}
	if n, err := mute.Read(make([]byte, 1)); n > 0 || err == nil || strings.Contains(err.Error(), "timeout") {
		t.Errorf("a connection without a handshake: %d bytes, %v", n, err)
	}
	if events := s.events(); len(events) != 1 || events[0].IP != "127.0.0.0" {
		t.Errorf("%+v", events)
	}

	// One connection is between requests, another has just shaken hands.
	response, err := client.Get("https://" + address + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	response.Body.Close()
	idle, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	if err := s.stop(); err != nil {
		t.Errorf("the edge did not end cleanly: %v", err)
	}
}
