package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
	gosmtp "github.com/wneessen/go-mail/smtp"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/outgoing"
)

// Bounds of one mail: each step until the server has the mail, and all of it. Once it has the mail the rest of the time is for its answer:
// some look for viruses before they answer, and who gives up then sends the mail twice.
const (
	phaseTimeout = 10 * time.Second
	sendTimeout  = 90 * time.Second
)

// The schemes of a server's address.
const (
	schemeSTARTTLS = "smtp"          // TLS after STARTTLS, without which nothing is sent
	schemeTLS      = "smtps"         // TLS from the beginning
	schemeInsecure = "smtp+insecure" // none, on this machine alone
)

// Server is the operator's SMTP server. The zero one is none.
type Server struct {
	scheme, host, user, password string
	port                         int
	phase                        time.Duration  // phaseTimeout
	Roots                        *x509.CertPool // whose certificates hold; nil: the system's
}

// ParseServer reads the address of a server, "smtp://user@host:587", and the password of its user. Of the address's user %40 is "@".
func ParseServer(address, password string) (Server, error) {
	refuse := func(format string, args ...any) (Server, error) {
		return Server{}, fmt.Errorf("mail: the SMTP server "+format, args...)
	}
	u, err := url.Parse(address)
	if err != nil { // it may contain a password: the error is not shown
		return refuse("is none: give smtp://user@host:587 or smtps://user@host:465")
	}
	s := Server{scheme: u.Scheme, host: u.Hostname(), user: u.User.Username(), password: password,
		phase: phaseTimeout}
	ports := map[string]int{schemeSTARTTLS: 587, schemeTLS: 465, schemeInsecure: 25}
	if _, hasPassword := u.User.Password(); hasPassword {
		return refuse("has a password in its address: give it as a secret")
	}
	if ports[s.scheme] == 0 || s.host == "" || u.RawQuery != "" || u.Fragment != "" || u.Path != "" && u.Path != "/" {
		return refuse("is smtp://user@host:587, with STARTTLS, or smtps://user@host:465")
	}
	if s.port = ports[s.scheme]; u.Port() != "" {
		if s.port, err = strconv.Atoi(u.Port()); err != nil || s.port < 1 || s.port > 65535 {
			return refuse("has no port %q", u.Port())
		}
	}
	if s.scheme == schemeInsecure {
		if ip := net.ParseIP(s.host); s.host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return refuse("is reached without TLS on this machine alone: %s is another", s.host)
		}
	}
	if (s.user == "") != (password == "") {
		return refuse("has a user and a password, or neither")
	}
	return s, nil
}

// Address is the server's host and port.
func (s Server) Address() string { return net.JoinHostPort(s.host, strconv.Itoa(s.port)) }

// open connects, begins TLS and logs in, while ctx lasts. closed ends the connection.
func (s Server) open(ctx context.Context) (client *gosmtp.Client, closed func(), err error) {
	var conn net.Conn
	config := &tls.Config{ServerName: s.host, MinVersion: tls.VersionTLS12, RootCAs: s.Roots}
	options := []gomail.Option{gomail.WithPort(s.port), gomail.WithTimeout(s.phase), gomail.WithTLSConfig(config), gomail.WithoutNoop(),
		gomail.WithDialContextFunc(func(dialing context.Context, network, _ string) (net.Conn, error) {
			dial := (&net.Dialer{}).DialContext
			if s.scheme == schemeTLS {
				dial = (&tls.Dialer{Config: config}).DialContext
			}
			conn, err = dial(dialing, network, s.Address())
			return conn, err
		})}
	auth := []gomail.SMTPAuthType{gomail.SMTPAuthPlain, gomail.SMTPAuthLogin}
	switch s.scheme {
	case schemeSTARTTLS:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	case schemeTLS:
		options = append(options, gomail.WithSSL())
	default:
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
		auth = []gomail.SMTPAuthType{gomail.SMTPAuthPlainNoEnc, gomail.SMTPAuthLoginNoEnc}
	}
	if s.user != "" {
		options = append(options, gomail.WithOpportunisticSMTPAuth(auth...), gomail.WithUsername(s.user), gomail.WithPassword(s.password))
	}
	closed = func() {
		if conn != nil {
			_ = conn.Close() // what counts was answered
		}
	}
	made, err := gomail.NewClient(s.host, options...)
	if err != nil {
		return nil, closed, fmt.Errorf("mail: %w", err)
	}
	if client, err = made.DialToSMTPClientWithContext(ctx); err != nil {
		return nil, closed, fmt.Errorf("mail: %w", err)
	}
	return client, closed, nil
}

// Check connects, begins TLS, logs in and sends nothing.
func (s Server) Check(ctx context.Context) error {
	client, closed, err := s.open(ctx)
	defer closed()
	if err != nil {
		return err
	}
	return client.Quit()
}

// The steps of a mail: at which one it failed.
const (
	stepLogIn = iota
	stepSender
	stepRecipient
	stepMail // it may have the mail
)

// send sends one mail until a moment; where ctx ends before the server has the mail, nothing is sent. Of what the server answers its code
// alone is kept: the text may have the address.
func (s Server) send(ctx context.Context, until time.Time, m *gomail.Msg) (r outgoing.Result) {
	step, err := s.handOver(ctx, until, m)
	if err != nil && step < stepMail && ctx.Err() != nil {
		return outgoing.Result{Ended: true}
	}
	var answer *textproto.Error
	switch {
	case err == nil:
		r.Try.Status = 250
		return r
	case step == stepLogIn:
		r.Try.Status, r.Try.Failure = whyClosed(err)
		return r
	case !errors.As(err, &answer):
		r.Try.Failure = failureOf(err)
		return r
	}
	r.Try.Status, r.Try.Failure = answer.Code, commerce.TryStatus
	r.Slow = answer.Code == 421 // it shuts down, or wants less
	switch {
	case answer.Code/100 != 5:
	case step == stepSender || answer.Code == 530 || answer.Code == 535 || strings.HasPrefix(answer.Msg, "5.7."):
		r.Try.Failure = commerce.TryLogIn // of us, such as that it relays nothing of ours: not of this address
	default:
		r.Never = true
	}
	return r
}

// handOver sends one mail, and returns the step at which that failed.
func (s Server) handOver(ctx context.Context, until time.Time, m *gomail.Msg) (step int, err error) {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	client, closed, err := s.open(ctx)
	defer closed()
	if err != nil {
		return stepLogIn, err
	}
	alive := context.AfterFunc(ctx, closed)
	from, errFrom := m.GetSender(false)
	to, errTo := m.GetRecipients()
	if err := errors.Join(errFrom, errTo); err != nil || len(to) != 1 {
		return stepRecipient, fmt.Errorf("mail: %d recipients: %w", len(to), err)
	}
	_ = client.UpdateDeadline(s.phase) // where the connection is closed, the step fails
	if err := client.Mail(from); err != nil {
		return stepSender, err
	}
	_ = client.UpdateDeadline(s.phase)
	if err := client.Rcpt(to[0]); err != nil {
		return stepRecipient, err
	}
	_ = client.UpdateDeadline(s.phase)
	w, err := client.Data()
	if err != nil {
		return stepRecipient, err
	}
	if !alive() { // ctx ended
		return stepRecipient, ctx.Err()
	}
	_ = client.UpdateDeadline(time.Until(until))
	if _, err := m.WriteTo(w); err != nil {
		return stepMail, err
	}
	if err := w.Close(); err != nil {
		return stepMail, err
	}
	_ = client.UpdateDeadline(time.Second)
	_ = client.Quit() // it has the mail
	return stepMail, nil
}

// whyClosed says why no connection came about.
func whyClosed(err error) (status int, why string) {
	var answer *textproto.Error
	var network net.Error
	switch {
	case errors.As(err, &answer) && answer.Code/100 == 5:
		return answer.Code, commerce.TryLogIn
	case errors.As(err, &answer):
		return answer.Code, commerce.TryStatus
	case errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return 0, failureOf(err)
	}
	return 0, commerce.TryLogIn // no TLS, a certificate that does not hold, no way to log in
}

// failureOf is why no answer came.
func failureOf(err error) string {
	var network net.Error
	if errors.As(err, &network) && network.Timeout() {
		return commerce.TryTimeout
	}
	return commerce.TryNoAnswer
}
