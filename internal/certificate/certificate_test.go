package certificate

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// files are where a test's pair lies.
type files struct {
	t         *testing.T
	cert, key string
}

func newFiles(t *testing.T) files {
	dir := t.TempDir()
	return files{t, filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")}
}

func (f files) write(name string, text []byte) {
	f.t.Helper()
	if err := os.WriteFile(name, text, 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// made is a certificate for a name, signed by itself, and its key, as PEM.
func made(t *testing.T, name string, ends time.Time) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: ends,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

// served is the name of the certificate that a server with the pair shows now.
func served(t *testing.T, p *Pair, client *tls.Config) (name string, state tls.ConnectionState, err error) {
	t.Helper()
	near, far := net.Pipe()
	defer near.Close()
	go func() {
		defer far.Close()
		_ = tls.Server(far, p.Config()).HandshakeContext(t.Context())
	}()
	client.InsecureSkipVerify = true // the test looks at the certificate itself
	conn := tls.Client(near, client)
	if err := conn.HandshakeContext(t.Context()); err != nil {
		return "", state, err
	}
	state = conn.ConnectionState()
	return state.PeerCertificates[0].Subject.CommonName, state, nil
}

func TestANewPairIsServedAndABrokenOneIsNot(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	year := time.Now().AddDate(1, 0, 0)
	cert, key := made(t, "one.example", year)
	f.write(f.cert, cert)
	f.write(f.key, key)
	p, err := Open(f.cert, f.key)
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	m, err := NewMetrics("edge", registry)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	// g wants what a look at the files makes of them.
	g := func(what, wantName string, wantTaken, wantRefused float64, said string) {
		t.Helper()
		out.Reset()
		p.poll(log, m)
		if name, _, err := served(t, p, &tls.Config{}); err != nil || name != wantName {
			t.Errorf("%s: %s, %v; want %s", what, name, err, wantName)
		}
		if got, no := testutil.ToFloat64(m.reloads.WithLabelValues(taken)), testutil.ToFloat64(m.reloads.WithLabelValues(refused)); got !=
			wantTaken ||
			no != wantRefused {
			t.Errorf("%s: %g taken and %g refused, want %g and %g", what, got, no, wantTaken, wantRefused)
		}
		if text := out.String(); said == "" && text != "" || !strings.Contains(text, said) || strings.Count(text, "\n") > 1 {
			t.Errorf("%s: the log says %q, want %q", what, text, said)
		}
	}
	g("nothing new", "one.example", 0, 0, "")

	cert2, key2 := made(t, "two.example", year.AddDate(1, 0, 0))
	f.write(f.cert, cert2) // the key follows a moment later
	g("a certificate without its key", "one.example", 0, 1, "private key does not match")
	g("the same once more", "one.example", 0, 1, "")
	f.write(f.key, key2)
	g("both", "two.example", 1, 1, "two.example")
	if got := testutil.ToFloat64(m.expiry); got != float64(year.AddDate(1, 0, 0).Unix()) {
		t.Errorf("the certificate ends at %g", got)
	}

	f.write(f.cert, cert2[:len(cert2)/2])
	g("half a certificate", "two.example", 1, 2, "level=ERROR")
	if err := os.Remove(f.key); err != nil {
		t.Fatal(err)
	}
	g("no key", "two.example", 1, 3, "no such file")
	g("no key still", "two.example", 1, 3, "")
	ended, endedKey := made(t, "ended.example", time.Now().Add(-time.Hour))
	f.write(f.cert, ended)
	f.write(f.key, endedKey)
	g("one that has ended", "two.example", 1, 4, "ended at")
	f.write(f.cert, bytes.Repeat([]byte("x"), maxFile+1))
	g("a file of another kind", "two.example", 1, 5, "larger than")
	f.write(f.cert, cert)
	f.write(f.key, key)
	g("the first again", "one.example", 2, 5, "one.example")
}

func TestAPairThatCannotBeServedIsRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	want := func(what string) {
		t.Helper()
		if p, err := Open(f.cert, f.key); p != nil || err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v; want an error with %q", err, what)
		}
	}
	want("tls.crt")
	cert, key := made(t, "a.example", time.Now().Add(-time.Hour))
	f.write(f.cert, cert)
	want("tls.key")
	f.write(f.key, key)
	want("ended at")
	f.write(f.cert, key)
	want("tls.crt with")
}

func TestOldVersionsOfTLSAreRefused(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	cert, key := made(t, "a.example", time.Now().Add(time.Hour))
	f.write(f.cert, cert)
	f.write(f.key, key)
	p, err := Open(f.cert, f.key)
	if err != nil {
		t.Fatal(err)
	}
	for version, ok := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true,
		tls.VersionTLS13: true} {
		_, state, err := served(t, p, &tls.Config{MinVersion: version, MaxVersion: version, NextProtos: []string{"h2", "http/1.1"}})
		if (err == nil) != ok || ok && state.NegotiatedProtocol != "http/1.1" {
			t.Errorf("%s: %v, %s", tls.VersionName(version), err, state.NegotiatedProtocol)
		}
	}
}
