package mail

import (
	"crypto/sha256"
	"fmt"
	"html/template"
	netmail "net/mail"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"github.com/tributary-io/tributary/internal/commerce"
)

// page is the HTML of a mail: no image, no script, nothing that is loaded from elsewhere.
var page = template.Must(template.New("mail").Parse(`<!doctype html>
<html lang="{{.Lang}}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{{.Subject}}</title></head>
<body style="font-family: sans-serif; line-height: 1.5; max-width: 36em; margin: 1.5em auto; padding: 0 1em">
{{range .Lines}}<p>{{.}}</p>
{{end}}{{if .Items}}<ul>
{{range .Items}}<li>{{.}}</li>
{{end}}</ul>
{{end}}{{with .Link}}{{if .URL}}<p><a href="{{.URL}}">{{.Name}}</a></p>
{{end}}{{end}}<hr>
<p><small>{{.Why}}{{with .Choose}}{{if .URL}} <a href="{{.URL}}">{{.Name}}</a>{{end}}{{end}}</small></p>
</body>
</html>
`))

// plain is the same as a text.
func (l *letter) plain() string {
	var b strings.Builder
	for _, line := range l.Lines {
		b.WriteString(line + "\n\n")
	}
	for _, item := range l.Items {
		b.WriteString("* " + item + "\n")
	}
	if len(l.Items) > 0 {
		b.WriteString("\n")
	}
	if l.Link.URL != "" {
		b.WriteString(l.Link.Name + ":\n" + l.Link.URL + "\n\n")
	}
	b.WriteString("-- \n" + l.Why + "\n")
	if l.Choose.URL != "" {
		b.WriteString(l.Choose.Name + ":\n" + l.Choose.URL + "\n")
	}
	return b.String()
}

// messageID is the same for each attempt to send a mail, so that a second delivery of it can be known again, and differs between persons.
func messageID(d commerce.LeasedDestination, m commerce.Message, from *netmail.Address) string {
	sum := sha256.Sum256([]byte(d.CompanyID + "\x00" + d.ID))
	_, domain, _ := strings.Cut(from.Address, "@")
	return fmt.Sprintf("%s.%s@%s", m.ID, commerce.LowerBase32.EncodeToString(sum[:10]), domain)
}

// message makes the mail to one person.
func (l *letter) message(from, to *netmail.Address, id string, at time.Time) (*gomail.Msg, error) {
	m := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	m.FromMailAddress(from)
	m.ToMailAddress(to)
	m.Subject(name(l.Subject))
	m.SetMessageIDWithValue(id)
	m.SetDateWithValue(at)
	m.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: nobody's absence answers it
	m.SetGenHeader("Content-Language", l.Lang)
	var body strings.Builder
	if err := page.Execute(&body, l); err != nil {
		return nil, fmt.Errorf("mail: %w", err)
	}
	m.SetBodyString(gomail.TypeTextPlain, l.plain())
	m.AddAlternativeString(gomail.TypeTextHTML, body.String())
	return m, nil
}
