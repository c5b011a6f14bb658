// Package certificate serves TLS with a certificate that lies in two files, and
// takes new files without a restart.
//
// What may enter: reading and watching a service's own certificate. Not who is
// trusted as a client.
package certificate

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tributary-io/tributary/internal/background"
)

// Strict is the value of Strict-Transport-Security (RFC 6797) where a service ends
// TLS itself: browsers use HTTPS alone for a year, the usual time. Subdomains may
// be others'.
const Strict = "max-age=31536000"

const (
	pollEvery = 5 * time.Second // two small files: cheap, and soon enough
	maxFile   = 1 << 20         // bytes: a chain has a few KiB
)

// Metrics of a service's certificate.
type Metrics struct {
	expiry  prometheus.Gauge
	reloads *prometheus.CounterVec
}

// Outcomes of a reload.
const (
	taken   = "taken"
	refused = "refused"
)

// NewMetrics makes and registers the metrics of a service ("edge"); it may serve
// no certificate.
func NewMetrics(service string, registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		expiry: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tributary_" + service + "_certificate_expiry_timestamp_seconds",
			Help: "When the certificate that is served ends, Unix time; 0 without TLS of its own."}),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tributary_" + service + "_certificate_reloads_total", Help: "New certificates found in the files, taken or refused."},
			[]string{"outcome"}),
	}
	for _, outcome := range []string{taken, refused} {
		m.reloads.WithLabelValues(outcome)
	}
	return m, errors.Join(registry.Register(m.expiry), registry.Register(m.reloads))
}

// Pair is a certificate and its key, as their files say. Config's server may run
// beside one Watch.
type Pair struct {
	certFile, keyFile string

	now        func() time.Time
	current    atomic.Pointer[tls.Certificate]
	tried      [sha256.Size]byte // digest of the files that were looked at last
	unreadable string            // why the files could not be read, as it was logged last
}

// Open reads the pair.
func Open(certFile, keyFile string) (*Pair, error) {
	p := &Pair{certFile: certFile, keyFile: keyFile, now: time.Now}
	cert, key, err := p.readFiles()
	if err != nil {
		return nil, err
	}
	p.tried = digest(cert, key)
	pair, err := p.parse(cert, key)
	if err != nil {
		return nil, err
	}
	p.current.Store(pair)
	return p, nil
}

// Config is for a server of HTTP/1.1 with the newest certificate.
func (p *Pair) Config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12, // RFC 8996 ends 1.0 and 1.1
		NextProtos:     []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.current.Load(), nil },
	}
}

// Watch takes new files until ctx ends. A pair that cannot be served leaves the
// one before in place: that is logged, and counted.
func (p *Pair) Watch(ctx context.Context, log *slog.Logger, m *Metrics) {
	m.ends(p.current.Load())
	background.Every(ctx, pollEvery, nil, func() { p.poll(log, m) })
}

// poll looks at the files once. What is wrong with them is said once.
func (p *Pair) poll(log *slog.Logger, m *Metrics) {
	cert, key, err := p.readFiles()
	if err != nil {
		if err.Error() != p.unreadable {
			p.unreadable = err.Error()
			p.refuse(log, m, err)
		}
		return
	}
	p.unreadable = ""
	sum := digest(cert, key)
	if sum == p.tried {
		return
	}
	p.tried = sum
	pair, err := p.parse(cert, key)
	if err != nil {
		p.refuse(log, m, err)
		return
	}
	p.current.Store(pair)
	m.ends(pair)
	m.reloads.WithLabelValues(taken).Inc()
	log.Info("a new certificate is served", "names", pair.Leaf.DNSNames, "ends", pair.Leaf.NotAfter)
}

func (p *Pair) refuse(log *slog.Logger, m *Metrics, err error) {
	m.reloads.WithLabelValues(refused).Inc()
	log.Error("the new certificate is not taken: the one before is served on", "error", err, "ends", p.current.Load().Leaf.NotAfter)
}

func (m *Metrics) ends(pair *tls.Certificate) { m.expiry.Set(float64(pair.Leaf.NotAfter.Unix())) }

func (p *Pair) parse(cert, key []byte) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("%s with %s: %w", p.certFile, p.keyFile, err)
	}
	if p.now().After(pair.Leaf.NotAfter) {
		return nil, fmt.Errorf("%s: the certificate ended at %s", p.certFile, pair.Leaf.NotAfter.Format(time.RFC3339))
	}
	return &pair, nil
}

func (p *Pair) readFiles() (cert, key []byte, err error) {
	if cert, err = readFile(p.certFile); err != nil {
		return nil, nil, err
	}
	key, err = readFile(p.keyFile)
	return cert, key, err
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s is larger than %d bytes: it is no certificate and no key", name, maxFile)
	}
	return text, err
}

// digest tells files apart: times and sizes may stay, and a mounted secret is
// replaced by its links.
func digest(cert, key []byte) [sha256.Size]byte {
	a, b := sha256.Sum256(cert), sha256.Sum256(key)
	return sha256.Sum256(append(a[:], b[:]...))
}
