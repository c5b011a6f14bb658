package mail

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	netmail "net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// inbox is a real SMTP server that keeps what it takes.
type inbox struct {
	t      *testing.T
	addr   string
	server *smtp.Server
	roots  *x509.CertPool

	mu    sync.Mutex
	mails []received
	rcpt  func(to string) error // what it answers to a recipient; nil: it takes all
	after func()                // called when a mail is taken, before it says so
}

type received struct {
	to       []string
	raw      string
	user     string
	tls      bool
	headers  netmail.Header
	subject  string
	text, hm string
}

const smtpUser, smtpPassword = "loja@example.com", "s3cret"

// newInbox starts a server. What it offers is by scheme; users says whether one must log in.
func newInbox(t *testing.T, scheme string, users bool) *inbox {
	t.Helper()
	i := &inbox{t: t}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "smtp"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	i.roots = x509.NewCertPool()
	i.roots.AddCert(certificate)
	config := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}
	i.server = smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		return &session{inbox: i, conn: c, users: users}, nil
	}))
	i.server.Domain, i.server.AllowInsecureAuth = "mx.example.com", true
	i.server.ReadTimeout, i.server.WriteTimeout = time.Minute, time.Minute
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	i.addr = l.Addr().String()
	switch scheme {
	case schemeSTARTTLS:
		i.server.TLSConfig = config
	case schemeTLS:
		l = tls.NewListener(l, config)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = i.server.Serve(l) // it ends when it is closed
	}()
	t.Cleanup(func() {
		_ = i.server.Close()
		_ = l.Close() // where the server was closed before it knew of it
		<-done
	})
	return i
}

func (i *inbox) got() []received {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]received(nil), i.mails...)
}

func (i *inbox) answer(rcpt func(to string) error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.rcpt = rcpt
}

type session struct {
	inbox *inbox
	conn  *smtp.Conn
	users bool
	user  string
	to    []string
}

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != smtpUser || password != smtpPassword {
			return smtp.ErrAuthFailed
		}
		s.user = user
		return nil
	}), nil
}

func (s *session) Reset()        { s.to = nil }
func (s *session) Logout() error { return nil }

func (s *session) Mail(string, *smtp.MailOptions) error {
	if s.users && s.user == "" {
		return smtp.ErrAuthRequired
	}
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.inbox.mu.Lock()
	defer s.inbox.mu.Unlock()
	if s.inbox.rcpt != nil {
		if err := s.inbox.rcpt(to); err != nil {
			return err
		}
	}
	s.to = append(s.to, to)
	return nil
}

func (s *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	_, encrypted := s.conn.TLSConnectionState()
	one, err := parse(raw)
	if err != nil {
		return err
	}
	one.to, one.user, one.tls = s.to, s.user, encrypted
	s.inbox.mu.Lock()
	s.inbox.mails = append(s.inbox.mails, one)
	after := s.inbox.after
	s.inbox.mu.Unlock()
	if after != nil {
		after()
	}
	return nil
}

// parse reads a mail as a mail program does.
func parse(raw []byte) (one received, err error) {
	one.raw = string(raw)
	m, err := netmail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		return one, err
	}
	one.headers = m.Header
	if one.subject, err = (&mime.WordDecoder{}).DecodeHeader(m.Header.Get("Subject")); err != nil {
		return one, err
	}
	kind, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		return one, errors.Join(err, errors.New("it is "+kind))
	}
	parts := multipart.NewReader(m.Body, params["boundary"])
	for {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return one, nil
		}
		if err != nil {
			return one, err
		}
		body, err := io.ReadAll(quotedprintable.NewReader(part))
		if err != nil {
			return one, err
		}
		text := strings.ReplaceAll(string(body), "\r\n", "\n")
		switch {
		case strings.HasPrefix(part.Header.Get("Content-Type"), "text/plain"):
			one.text = text
		case strings.HasPrefix(part.Header.Get("Content-Type"), "text/html"):
			one.hm = text
		}
	}
}

// at is the server's address for a scheme.
func (i *inbox) at(scheme, user, password string) Server {
	i.t.Helper()
	if user != "" {
		user = strings.ReplaceAll(user, "@", "%40") + "@"
	}
	s, err := ParseServer(scheme+"://"+user+i.addr, password)
	if err != nil {
		i.t.Fatal(err)
	}
	s.Roots = i.roots
	return s
}
