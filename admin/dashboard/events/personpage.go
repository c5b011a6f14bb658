package events

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lang"
)

// mostNested bounds how deep the values of a person's data are nested. What a page sends with an event is bounded far below it.
const mostNested = 100

// personPage writes the JSON of a person's data as a page that the person reads: each value under its name in the words of a
// language, amounts and times as pages write them. It keeps no more than one value of the text.
type personPage struct {
	from     *json.Decoder
	to       *bufio.Writer
	lang     *lang.Printer
	zone     *time.Location
	currency string // of the order whose amounts follow
	depth    int
}

// personStyle is all the style of the page, which is a file on its own.
const personStyle = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a}` +
	`dl{display:grid;grid-template-columns:minmax(7rem,14rem) 1fr;gap:.1rem 1rem;margin:0}` +
	`dt{color:#555}dd{margin:0;min-width:0;overflow-wrap:anywhere}` +
	`li.entry{border-top:1px solid #bbb;padding:.6rem 0;break-inside:avoid}ul{list-style:none;padding:0;margin:0}` +
	`@media(max-width:30rem){dl{grid-template-columns:1fr}dd{margin:0 0 .4rem .8rem}}`

// writePersonPage reads the JSON of commerce.PersonFile and writes the page. store is the name that its heading has. After an error
// the page is not whole.
func writePersonPage(from io.Reader, to io.Writer, l *lang.Printer, zone *time.Location, store string) error {
	p := &personPage{from: json.NewDecoder(from), to: bufio.NewWriterSize(to, 64<<10), lang: l, zone: zone}
	p.from.UseNumber()
	first, err := p.from.Token()
	if err != nil || first != json.Delim('{') {
		return errors.Join(err, errPersonFile)
	}
	title := html.EscapeString(l.T("person.title", store))
	p.write(`<!doctype html><html lang="` + l.Tag + `"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
		`<title>` + title + `</title><style>` + personStyle + `</style></head><body><h1>` + title + `</h1>`)
	for p.from.More() {
		if err := p.member(); err != nil {
			return err
		}
	}
	if _, err := p.from.Token(); err != nil {
		return err
	}
	p.write("</body></html>\n")
	return p.to.Flush()
}

var errPersonFile = errors.New("dashboard: what is stored about a person is not the JSON that it is to be")

func (p *personPage) write(text string) { _, _ = p.to.WriteString(text) } // Flush returns the error

func (p *personPage) name() (string, error) {
	token, err := p.from.Token()
	name, ok := token.(string)
	if err == nil && !ok {
		err = errPersonFile
	}
	return name, err
}

// member writes one of the parts that the file has.
func (p *personPage) member() error {
	name, err := p.name()
	if err != nil {
		return err
	}
	token, err := p.from.Token()
	switch {
	case err != nil:
		return err
	case name == "company_id":
	case name == "held_back":
		p.write("<p>" + html.EscapeString(p.lang.T("person.held_back")) + "</p>")
	case name == "complete":
		key := map[bool]string{true: "person.whole", false: "person.cut"}[token == true]
		p.write("<p><strong>" + html.EscapeString(p.lang.T(key)) + "</strong></p>")
	case token == json.Delim('[') && name != "named_by":
		return p.section(name)
	default:
		p.write("<div>" + p.label(name) + ": ")
		if err := p.value(name, token); err != nil {
			return err
		}
		p.write("</div>")
	}
	return nil
}

// section writes a list of what is stored, each with its number.
func (p *personPage) section(name string) error {
	p.write("<h2>" + p.label(name) + "</h2><ul>")
	n := 0
	for p.from.More() {
		token, err := p.from.Token()
		if err != nil {
			return err
		}
		n++
		p.write(`<li class="entry">`)
		p.currency = ""
		if err := p.value("", token); err != nil {
			return err
		}
		p.write("</li>\n")
	}
	if n == 0 {
		p.write("<li>" + html.EscapeString(p.lang.T("person.none")) + "</li>")
	}
	p.write("</ul>")
	_, err := p.from.Token()
	return err
}

// label is what a member is called, escaped: in the words of the language, or as the shop has named it.
func (p *personPage) label(name string) string {
	return html.EscapeString(commerce.WriteDirections(site.TextOf(p.lang, "person.f_"+name, name)))
}

// value writes the value of a member, which begins with a token.
func (p *personPage) value(name string, token json.Token) error {
	if p.depth++; p.depth > mostNested {
		return errPersonFile
	}
	defer func() { p.depth-- }()
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return p.object()
		}
		return p.list(name)
	case string:
		if name == "currency" {
			p.currency = t
		}
		p.write(html.EscapeString(commerce.WriteDirections(p.words(name, t))))
	case json.Number:
		p.write(html.EscapeString(p.number(name, t)))
	case bool:
		p.write(html.EscapeString(p.lang.T(map[bool]string{true: "person.yes", false: "person.no"}[t])))
	default:
		p.write("–")
	}
	return nil
}

func (p *personPage) object() error {
	p.write("<dl>")
	for p.from.More() {
		name, err := p.name()
		if err != nil {
			return err
		}
		token, err := p.from.Token()
		if err != nil {
			return err
		}
		p.write("<dt>" + p.label(name) + "</dt><dd>")
		if err := p.value(name, token); err != nil {
			return err
		}
		p.write("</dd>")
	}
	p.write("</dl>")
	_, err := p.from.Token()
	return err
}

func (p *personPage) list(name string) error {
	p.write("<ul>")
	for p.from.More() {
		token, err := p.from.Token()
		if err != nil {
			return err
		}
		p.write("<li>")
		if err := p.value(name, token); err != nil {
			return err
		}
		p.write("</li>")
	}
	p.write("</ul>")
	_, err := p.from.Token()
	return err
}

// words are a text: a time is written as on pages, in the store's zone, and what only programs say has words.
func (p *personPage) words(name, text string) string {
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return p.lang.Instant(at.In(p.zone))
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return p.lang.Date(day)
	}
	return site.TextOf(p.lang, "person."+name+"_"+strings.ToLower(text), text)
}

// number is a number of the language: an amount with its currency, the state of an order in words.
func (p *personPage) number(name string, n json.Number) string {
	if minor, err := n.Int64(); err == nil && strings.HasSuffix(name, "Minor") && p.currency != "" {
		return p.lang.Money(minor, p.currency)
	}
	if key := fmt.Sprintf("person.%s_%s", name, n); p.lang.Has(key) {
		return p.lang.T(key)
	}
	if d, err := decimal.NewFromString(n.String()); err == nil && !d.IsInteger() {
		return p.lang.Number(d)
	}
	return n.String()
}
