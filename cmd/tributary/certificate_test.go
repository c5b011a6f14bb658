package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

// writePair writes a certificate for a name, signed by itself, and its key.
func writePair(t *testing.T, certFile, keyFile, name string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, keyFile, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})))
	writeFile(t, certFile, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// overTLS answers a request by a new connection, and says whose certificate it saw.
func overTLS(t *testing.T, address, path string) (name string, response *http.Response, body string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, ForceAttemptHTTP2: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // the test looks at the certificate itself
	}}
	response, err := client.Get("https://" + address + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.Proto != "HTTP/1.1" || response.TLS.Version < tls.VersionTLS12 {
		t.Errorf("%s: %s over %s", path, response.Proto, tls.VersionName(response.TLS.Version))
	}
	return response.TLS.PeerCertificates[0].Subject.CommonName, response, string(text)
}

func TestServicesServeHTTPSThemselvesAndTakeNewCertificates(t *testing.T) {
	installation(t)
	t.Setenv("TRIBUTARY_TOKEN_SECRET", strings.Repeat("t", 32))
	t.Setenv("TRIBUTARY_KAFKA_BROKERS", devtest.Kafka(t))
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	writePair(t, cert, key, "one.example")
	for name, args := range map[string][]string{"edge": nil, "admin": {"--short-base", "go.example.com"}} {
		t.Run(name, func(t *testing.T) {
			writePair(t, cert, key, "one.example")
			service := start(t, append([]string{name, "--addr", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key}, args...)...)
			address := strings.TrimPrefix(service.origin(), "http://")
			for path, status := range map[string]int{"/healthz": 200, "/nothing/here": 404} {
				served, response, _ := overTLS(t, address, path)
				if served != "one.example" || response.StatusCode != status || response.Header.Get("Strict-Transport-Security") != "max-age=31536000" {
					t.Errorf("%s: %d by %s, %v", path, response.StatusCode, served, response.Header)
				}
			}
			plainHTTP(t, address)
			if out, status := command(t, "health", "--live", "--addr", address, "--tls-cert", cert); status != 0 {
				t.Errorf("by HTTPS health exits with %d:\n%s", status, out)
			}

			writePair(t, cert, key, "two.example")
			await.Until(t, await.Long, func() bool { served, _, _ := overTLS(t, address, "/healthz"); return served == "two.example" },
				func() string { return "the new certificate is served\n" + service.out.String() })
			writeFile(t, cert, "no certificate")
			service.says("the new certificate is not taken")
			served, _, page := overTLS(t, address, "/metrics")
			if served != "two.example" {
				t.Errorf("beside broken files, %s is served", served)
			}
			for _, want := range []string{`_certificate_reloads_total{outcome="taken"} 1`, `_certificate_reloads_total{outcome="refused"} 1`,
				`_certificate_expiry_timestamp_seconds 1.`} {
				if !strings.Contains(page, "\ntributary_"+name+want) {
					t.Errorf("%s is not in\n%s", want, regexp.MustCompile(`(?m)^tributary.*certificate.*$`).FindAllString(page, -1))
				}
			}
		})
	}
}

// plainHTTP wants no HTTP answer to a request without TLS that could be taken for
// the service's own.
func plainHTTP(t *testing.T, address string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: a.example\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if response, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
		response.Body.Close()
		if response.StatusCode < 400 {
			t.Errorf("without TLS: %s", response.Status)
		}
	}
}

func TestCertificatesThatCannotBeServedAreToldByTheirFlags(t *testing.T) {
	dir := t.TempDir()
	cert := filepath.Join(dir, "tls.crt")
	f := func(want string, args ...string) {
		t.Helper()
		out, status := command(t, append([]string{"edge"}, args...)...)
		if status != statusUsage || !strings.Contains(out, want) {
			t.Errorf("%v: exit status %d and\n%s", args, status, out)
		}
	}
	f("--tls-cert and --tls-key go together", "--tls-cert", cert)
	f("--tls-cert and --tls-key go together", "--tls-key", cert)
	f("--tls-cert, --tls-key: open "+cert, "--tls-cert", cert, "--tls-key", cert)
	writeFile(t, cert, "no certificate")
	f("--tls-cert, --tls-key: "+cert, "--tls-cert", cert, "--tls-key", cert)
}
