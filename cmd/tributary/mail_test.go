package main

import (
	"bytes"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/emersion/go-smtp"

	"github.com/tributary-io/tributary/admin/mail"
)

// withMail lets each admin of the test send mails, to a server that is not there.
func withMail(t *testing.T) {
	t.Helper()
	t.Setenv("TRIBUTARY_SMTP", "smtp+insecure://127.0.0.1:9")
	t.Setenv("TRIBUTARY_MAIL_FROM", "no-reply@example.com")
	t.Setenv("TRIBUTARY_PUBLIC_URL", "https://painel.example.com")
}

// What belongs to mails is given together, and a wrong server is refused before the service starts.
func TestSettingsOfMails(t *testing.T) {
	for _, c := range []struct{ address, from, public, password, says string }{
		{"", "", "", "", ""}, {"", "", "https://painel.example.com", "x", ""},
		{"smtp://u@smtp.example.com", "a@b.example", "https://painel.example.com", "p", ""},
		{"", "a@b.example", "", "", "--mail-from needs --smtp"},
		{"smtp://u@smtp.example.com", "", "https://painel.example.com", "p", "--smtp needs --mail-from"},
		{"smtp://u@smtp.example.com", "a@b.example", "", "p", "--smtp needs --public-url"},
		{"smtp://u:p@smtp.example.com", "a@b.example", "https://painel.example.com", "p", "has a password in its address"},
		{"smtp+insecure://smtp.example.com", "a@b.example", "https://painel.example.com", "", "on this machine alone"},
	} {
		t.Setenv("TRIBUTARY_SMTP_PASSWORD", c.password)
		f := smtpFlags{address: c.address, from: c.from, password: secretFlag{name: "smtp-password"}}
		config, err := f.config(c.public)
		if c.says == "" && (err != nil || (config != nil) != (c.address != "")) || c.says != "" && (err == nil ||
			!strings.Contains(err.Error(), c.says)) {
			t.Errorf("%+v: %v, %v", c, config, err)
		}
	}
}

// Doctor logs in at the SMTP server, and sends nothing.
func TestDoctorLooksAtTheMailServer(t *testing.T) {
	t.Parallel()
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return nil, errors.New("nothing is taken") }))
	server.Domain = "mx.example.com"
	taking := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return noMails{}, nil }))
	for s, level := range map[*smtp.Server]string{server: "FAIL", taking: "ok"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = s.Serve(l) // it ends when it is closed
		}()
		parsed, err := mail.ParseServer("smtp+insecure://"+l.Addr().String(), "")
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		f := findings{out: &out}
		(&examination{mail: &parsed}).checkMail(t.Context(), &f)
		if !hasLine(out.String(), level, "mail", l.Addr().String()) {
			t.Errorf("%s: %s", level, out.String())
		}
		_ = s.Close()
		<-done
	}
	var out bytes.Buffer
	f := findings{out: &out}
	(&examination{}).checkMail(t.Context(), &f)
	if !hasLine(out.String(), "-", "mail", "no --smtp is given") {
		t.Error(out.String())
	}
}

// noMails is a session in which no mail comes.
type noMails struct{ smtp.Session }

func (noMails) Reset()        {}
func (noMails) Logout() error { return nil }
