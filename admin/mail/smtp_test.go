package mail

import (
	"context"
	"errors"
	netmail "net/mail"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	gomail "github.com/wneessen/go-mail"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/outgoing"
)

func sample(t *testing.T, l letter, to string) *gomail.Msg {
	t.Helper()
	from, err := ParseFrom("Tributary <no-reply@example.com>")
	if err != nil {
		t.Fatal(err)
	}
	m, err := l.message(from, &netmail.Address{Address: to}, "msg_1.abc@example.com", time.Unix(1_700_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// deliver sends a mail for as long as one may take.
func deliver(t *testing.T, s Server, m *gomail.Msg) outgoing.Result {
	return s.send(t.Context(), time.Now().Add(sendTimeout), m)
}

var plainLetter = letter{Lang: "en", Subject: "Loja: orders wait", Lines: []string{"Two orders wait."},
	Link: link{"Orders in review", "https://painel.example.com/dashboard/reviews?company=c_1&x=1"}, Why: "You are owner."}

// Mails go over TLS to who holds the server's certificate, with the log-in; without TLS nothing is sent but to this machine.
func TestMailsAreHandedOverByTLS(t *testing.T) {
	t.Parallel()
	starttls, wrapped := newInbox(t, schemeSTARTTLS, true), newInbox(t, schemeTLS, true)
	bare := newInbox(t, schemeInsecure, false)
	cases := map[string]struct {
		inbox  *inbox
		server Server
		want   string
	}{
		"STARTTLS":             {starttls, starttls.at(schemeSTARTTLS, smtpUser, smtpPassword), ""},
		"TLS":                  {wrapped, wrapped.at(schemeTLS, smtpUser, smtpPassword), ""},
		"this machine":         {bare, bare.at(schemeInsecure, "", ""), ""},
		"no STARTTLS":          {bare, bare.at(schemeSTARTTLS, smtpUser, smtpPassword), commerce.TryLogIn},
		"another password":     {starttls, starttls.at(schemeSTARTTLS, smtpUser, "guess"), commerce.TryLogIn},
		"no log-in":            {starttls, starttls.at(schemeSTARTTLS, "", ""), commerce.TryLogIn},
		"TLS where there none": {bare, bare.at(schemeTLS, smtpUser, smtpPassword), commerce.TryLogIn},
	}
	stranger := starttls.at(schemeSTARTTLS, smtpUser, smtpPassword)
	stranger.Roots = wrapped.roots
	cases["a stranger's certificate"] = struct {
		inbox  *inbox
		server Server
		want   string
	}{starttls, stranger, commerce.TryLogIn}
	for what, c := range cases {
		before := len(c.inbox.got())
		r := deliver(t, c.server, sample(t, plainLetter, "ana@example.com"))
		if r.Try.Failure != c.want || r.Never {
			t.Errorf("%s: %+v", what, r)
		}
		got := c.inbox.got()[before:]
		if c.want != "" {
			if len(got) != 0 {
				t.Errorf("%s: it was sent", what)
			}
			if what != "no log-in" {
				if err := c.server.Check(t.Context()); err == nil {
					t.Errorf("%s: the check is content", what)
				}
			}
			continue
		}
		if len(got) != 1 || strings.Join(got[0].to, " ") != "ana@example.com" || got[0].tls == (c.server.scheme == schemeInsecure) {
			t.Errorf("%s: %+v", what, got)
		}
		if c.server.user != "" && got[0].user != smtpUser {
			t.Errorf("%s: the user is %q", what, got[0].user)
		}
		if err := c.server.Check(t.Context()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// What the server says of an address ends that mail; what it says of us, or of this moment, does not.
func TestWhatTheServerAnswers(t *testing.T) {
	t.Parallel()
	i := newInbox(t, schemeInsecure, false)
	server := i.at(schemeInsecure, "", "")
	for _, c := range []struct {
		answer *smtp.SMTPError
		why    string
		never  bool
	}{
		{&smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no ana@example.com here"}, commerce.TryStatus, true},
		{&smtp.SMTPError{Code: 554, EnhancedCode: smtp.EnhancedCode{5, 7, 1}, Message: "Relay access denied"}, commerce.TryLogIn, false},
		{&smtp.SMTPError{Code: 530, EnhancedCode: smtp.EnhancedCode{5, 5, 1}, Message: "log in first"}, commerce.TryLogIn, false},
		{&smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 7, 1}, Message: "come back later"}, commerce.TryStatus, false},
		{&smtp.SMTPError{Code: 421, EnhancedCode: smtp.EnhancedCode{4, 3, 2}, Message: "shutting down"}, commerce.TryStatus, false},
	} {
		i.answer(func(string) error { return c.answer })
		r := deliver(t, server, sample(t, plainLetter, "ana@example.com"))
		if r.Try.Failure != c.why || r.Try.Status != c.answer.Code || r.Never != c.never || r.Try.Answer != "" {
			t.Errorf("%d: %+v", c.answer.Code, r)
		}
	}
	_ = i.server.Close()
	if r := deliver(t, server, sample(t, plainLetter, "ana@example.com")); r.Try.Failure != commerce.TryNoAnswer || r.Never {
		t.Errorf("no server: %+v", r)
	}
}

func TestServersThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ address, password string }{
		{"smtp.example.com:587", ""}, {"smtp://u:p@smtp.example.com", ""}, {"smtp://u@smtp.example.com", ""}, {"smtp://smtp.example.com", "p"},
		{"smtp+insecure://smtp.example.com:25", ""}, {"smtp+insecure://10.0.0.1:25", ""}, {"http://smtp.example.com", ""},
		{"smtp://smtp.example.com/path", ""}, {"smtp://smtp.example.com?tls=no", ""}, {"smtp://smtp.example.com:0", ""},
		{"smtps://", ""}, {"smtp://u:p%zz@h", ""},
	} {
		if s, err := ParseServer(c.address, c.password); err == nil {
			t.Errorf("%s is taken as %s", c.address, s.Address())
		} else if strings.Contains(err.Error(), ":p@") || strings.Contains(err.Error(), "p%zz") {
			t.Errorf("it shows the password: %v", err)
		}
	}
	for address, want := range map[string]string{"smtp://u%40x@smtp.example.com": "smtp.example.com:587", "smtps://u@h:4650": "h:4650",
		"smtp+insecure://localhost": "localhost:25", "smtps://u@h": "h:465", "smtp://u@[::1]:26": "[::1]:26"} {
		password := "p"
		if strings.HasPrefix(address, schemeInsecure) {
			password = ""
		}
		if s, err := ParseServer(address, password); err != nil || s.Address() != want {
			t.Errorf("%s: %s, %v", address, s.Address(), err)
		}
	}
}

// Names come from strangers: they are no header, no HTML and no second line, and a mail has a bounded length.
func TestNamesAreTextAlone(t *testing.T) {
	t.Parallel()
	i := newInbox(t, schemeInsecure, false)
	evil := "Ana\r\nBcc: all@example.com\r\n\r\n<script>alert(1)</script><img src=https://evil.example/p.gif>\u202e\x00" +
		strings.Repeat("é", 500)
	shown := name(evil)
	if strings.ContainsAny(shown, "\r\n\x00\u202e") || len([]rune(shown)) > commerce.MaxMailLetter {
		t.Errorf("the name is %q", shown)
	}
	// Even where somebody forgets to clean a name, it is none of the headers.
	for _, text := range []string{shown, evil} {
		before := len(i.got())
		l := letter{Lang: "en", Subject: text + ": orders", Lines: []string{text}, Items: []string{text}, Why: text,
			Link: link{text, "https://painel.example.com/dashboard/"}, Choose: link{text, "javascript:alert(1)"}}
		if r := deliver(t, i.at(schemeInsecure, "", ""), sample(t, l, "ana@example.com")); r.Try.Failure != "" {
			t.Fatalf("%+v", r)
		}
		got := i.got()[before]
		if got.headers.Get("Bcc") != "" || len(got.to) != 1 || strings.Contains(got.subject, "\n") || len([]rune(got.subject)) > 100 {
			t.Errorf("headers: %q %q", got.headers, got.subject)
		}
		if strings.Contains(got.hm, "<script") || strings.Contains(got.hm, "<img") || strings.Contains(got.hm, `href="javascript`) {
			t.Errorf("HTML: %s", got.hm)
		}
	}
}

// What every mail has, and has not.
func TestWhatAMailIsMadeOf(t *testing.T) {
	t.Parallel()
	i := newInbox(t, schemeInsecure, false)
	l := plainLetter
	l.Choose = link{"Choose your mails", "https://painel.example.com/dashboard/mails?company=c_1"}
	l.Items = []string{"ANA10"}
	l.Subject = "São João: pedidos"
	if r := deliver(t, i.at(schemeInsecure, "", ""), sample(t, l, "ana@example.com")); r.Try.Failure != "" || r.Try.Status != 250 {
		t.Fatalf("%+v", r)
	}
	got := i.got()[0]
	for header, want := range map[string]string{"From": `"Tributary" <no-reply@example.com>`, "To": "<ana@example.com>",
		"Auto-Submitted": "auto-generated", "Message-Id": "<msg_1.abc@example.com>", "Date": "Tue, 14 Nov 2023 22:13:20 +0000",
		"Content-Language": "en", "User-Agent": "", "X-Mailer": ""} {
		if have := got.headers.Get(header); header == "Date" {
			at, err := netmail.ParseDate(have)
			if err != nil || at.Unix() != 1_700_000_000 {
				t.Errorf("Date: %q", have)
			}
		} else if have != want {
			t.Errorf("%s: %q, want %q", header, have, want)
		}
	}
	if got.subject != l.Subject {
		t.Errorf("%q", got.subject)
	}
	for _, want := range []string{"Two orders wait.", "ANA10", l.Link.URL, l.Choose.URL, "You are owner."} {
		if !strings.Contains(got.text, want) || !strings.Contains(strings.ReplaceAll(got.hm, "&amp;", "&"), want) {
			t.Errorf("%q is missing: %s\n%s", want, got.text, got.hm)
		}
	}
	for _, not := range []string{"<img", "<script", "<link", "src=", "url(", "utm_"} {
		if strings.Contains(got.hm, not) {
			t.Errorf("the HTML has %s", not)
		}
	}
}

func TestAddressesThatGetNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "ana", "ana@", "a@b, c@d", "Ana <ana@example.com>", "ana@example.com\r\nBcc: x@y.z", "a b@example.com",
		strings.Repeat("a", 300) + "@example.com"} {
		if to, err := recipient(text); !errors.Is(err, errAddress) {
			t.Errorf("%q is taken as %v", text, to)
		}
	}
	if to, err := recipient("ana@example.com"); err != nil || to.Address != "ana@example.com" {
		t.Errorf("%v %v", to, err)
	}
}

// A server that looks for viruses before it answers has the mail: we wait for its answer, for as long as a mail may take and no longer,
// also where we stop meanwhile. Where we stop before it has the mail, nothing is sent.
func TestHowLongAMailMayTake(t *testing.T) {
	t.Parallel()
	i := newInbox(t, schemeInsecure, false)
	server := i.at(schemeInsecure, "", "")
	server.phase = time.Second
	ctx, stop := context.WithCancel(t.Context())
	i.mu.Lock()
	i.after = func() {
		stop()
		time.Sleep(3 * server.phase)
	}
	i.mu.Unlock()
	if r := server.send(ctx, time.Now().Add(sendTimeout), sample(t, plainLetter, "ana@example.com")); r.Try.Failure != "" || r.Ended {
		t.Errorf("a slow answer: %+v", r)
	}
	r := server.send(t.Context(), time.Now().Add(1500*time.Millisecond), sample(t, plainLetter, "ana@example.com"))
	if r.Try.Failure != commerce.TryTimeout {
		t.Errorf("an answer that is too slow: %+v", r)
	}
	before := len(i.got())
	stopping, stopBefore := context.WithCancel(t.Context())
	i.answer(func(string) error {
		stopBefore()
		time.Sleep(server.phase / 2)
		return nil
	})
	r = server.send(stopping, time.Now().Add(sendTimeout), sample(t, plainLetter, "ana@example.com"))
	if !r.Ended || len(i.got()) != before {
		t.Errorf("we stop: %+v", r)
	}
	i.answer(func(string) error {
		time.Sleep(2 * server.phase)
		return nil
	})
	r = deliver(t, server, sample(t, plainLetter, "ana@example.com"))
	if r.Try.Failure != commerce.TryTimeout || len(i.got()) != before {
		t.Errorf("a recipient that is not answered: %+v", r)
	}
}
