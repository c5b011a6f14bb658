package site

import (
	"net/url"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lang"
)

// PayeeMessage is a ready message to an influencer whose document, Pix key or e-mail changed, to the former e-mail. Tributary
// sends none: the template "tell" has it as a link that opens the reader's own e-mail program.
type PayeeMessage struct {
	To    string
	Link  string   // mailto:
	Lines []string // the text
}

// TellPayee returns the message about what changed within commerce.PixRest, with values masked. nil: nothing did, or no former
// e-mail is known.
func TellPayee(l *lang.Printer, store, influencer string, d commerce.Details, now time.Time) *PayeeMessage {
	to := d.FormerEmail(now)
	masked := d.Masked()
	values := map[string]string{commerce.DetailEmail: masked.Email, commerce.DetailDocument: masked.Document,
		commerce.DetailPix: masked.Pix.Key}
	var changed []string
	for _, name := range []string{commerce.DetailPix, commerce.DetailDocument, commerce.DetailEmail} {
		switch at := d.Changed[name].At; {
		case !at.After(now.Add(-commerce.PixRest)):
		case values[name] == "":
			changed = append(changed, l.T("tell.removed_"+name))
		default:
			changed = append(changed, l.T("tell.changed_"+name, values[name]))
		}
	}
	if to == "" || len(changed) == 0 {
		return nil
	}
	m := &PayeeMessage{To: to, Lines: []string{l.T("tell.hello", oneLine(influencer)),
		l.T("tell.what", oneLine(store), JoinAnd(l, changed)), l.T("tell.not_you"), oneLine(store)}}
	at := strings.LastIndexByte(to, '@')
	m.Link = "mailto:" + mailPart(to[:max(at, 0)]) + "@" + mailPart(to[at+1:]) + "?subject=" + mailPart(l.T("tell.subject", oneLine(store))) +
		"&body=" + mailPart(strings.Join(m.Lines, "\r\n\r\n"))
	return m
}

// oneLine is a text without ends of lines.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// mailPart writes a text as a part of a mailto: address (RFC 6068): nothing in it ends the part.
func mailPart(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }
