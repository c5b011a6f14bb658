package edge

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/scrub"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// maxRejectedBody is how many bytes of a request's rejected events are redacted,
// and how many of one dead letter stay; of what is more only the digest stays.
const maxRejectedBody = 8 << 10

// rejections are the rejected items of one request. Those of one code share a
// dead letter, so a request makes no more letters than there are codes.
type rejections struct{ letters []rejection }

type rejection struct {
	first *core.Item // what the letter shows
	count int
}

// add takes an item that was refused. It must stay as it is until records.
func (r *rejections) add(item *core.Item) {
	for i := range r.letters {
		if r.letters[i].first.Err.Code == item.Err.Code {
			r.letters[i].count++
			return
		}
	}
	r.letters = append(r.letters, rejection{item, 1})
}

// records makes the dead letters. redacted is how many bytes of the events were
// redacted for them.
func (r *rejections) records(c *company, at time.Time) (records []kafka.Record, redacted int, err error) {
	for _, of := range r.letters {
		item := of.first
		letter := wire.Rejected{
			V: 1, CompanyID: c.CompanyID, EventID: c.keys.EventID(item.Event.ID), Topic: wire.TopicEvents,
			Code: string(item.Err.Code), Reason: scrub.Text(reason(item.Err)), Count: of.count,
			Digest: c.keys.Digest([]byte(item.Text)), At: at.UTC().Truncate(time.Millisecond),
		}
		if readable(item.Err.Code) && redacted+len(item.Text) <= maxRejectedBody {
			redacted += len(item.Text)
			letter.Body = redact(item.Text)
		}
		value, err := json.Marshal(letter)
		if err != nil {
			return nil, redacted, err
		}
		records = append(records, kafka.Record{Key: []byte(c.CompanyID), Value: value})
	}
	return records, redacted, nil
}

// readable tells whether an event that was refused for this has a text that can
// be redacted at a price that its size bounds.
func readable(code core.Code) bool {
	switch code {
	case core.CodeEventTooLarge, core.CodeInvalidJSON, core.CodeTooDeep, core.CodeNumberOutOfRange:
		return false
	}
	return true
}

func reason(v *core.Violation) string {
	if v.Field == "" {
		return v.Message
	}
	return v.Field + " " + v.Message
}

const (
	redacted = "(redacted)"

	// maxRedactNesting bounds JSON within JSON within JSON: each level is read anew.
	maxRedactNesting = 4
)

// redact returns an event without whom it names: without its identity, and
// without e-mails, phones and customer ids wherever they stand. Its eventId may
// be one: the letter has it, as a UUID or a keyed digest. What proves it (scrub.Proofs)
// stands in no text of it either. A text that is not JSON gives "".
func redact(text string) string {
	var of proving
	if value, ok := decoded(text); ok {
		of.find(value, 0)
	}
	proofs := scrub.ProofsOf(of.cart, of.visitor)
	return proofs.WithoutInJSON(redactText(text, 0))
}

// proving is what a rejected event says of who sent it: the first of each.
type proving struct{ cart, visitor string }

// find looks for it in a value of JSON. nesting is in how many values and texts of JSON it stands itself.
func (p *proving) find(value any, nesting int) {
	if nesting > maxFindNesting {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		for member, inner := range v {
			if text, ok := inner.(string); ok {
				switch plainName(member) {
				case "carttoken":
					p.cart = cmp.Or(p.cart, text)
				case "visitorid":
					p.visitor = cmp.Or(p.visitor, text)
				}
			}
			p.find(inner, nesting+1)
		}
	case []any:
		for _, inner := range v {
			p.find(inner, nesting+1)
		}
	case string:
		if text := strings.TrimSpace(v); strings.HasPrefix(text, "{") { // an envelope's identity
			if inner, ok := decoded(text); ok {
				p.find(inner, nesting+1)
			}
		}
	}
}

// maxFindNesting bounds where an event says who sent it: an envelope has its identity in a
// text, its visitor in an object.
const maxFindNesting = 3

// decoded is the value of a JSON text, and false of another.
func decoded(text string) (value any, ok bool) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	ok = decoder.Decode(&value) == nil && !decoder.More()
	return value, ok
}

// redactText is redact without a look for what proves the event. nesting is in how many texts of JSON the text stands itself.
func redactText(text string, nesting int) string {
	value, ok := decoded(text)
	if !ok {
		return ""
	}
	if envelope, ok := value.([]any); ok {
		for _, i := range []int{1, 5} { // its eventId, which the letter has, and its identity
			if len(envelope) > i && envelope[i] != nil {
				envelope[i] = redacted
			}
		}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(redactValue("", value, nesting)) != nil {
		return ""
	}
	body := scrub.JSONStrict(strings.TrimSuffix(out.String(), "\n"))
	if len(body) > maxRejectedBody {
		return ""
	}
	return body
}

func redactValue(name string, value any, nesting int) any {
	if value != nil && personal(name) {
		return redacted
	}
	switch v := value.(type) {
	case map[string]any:
		for member, inner := range v {
			v[member] = redactValue(member, inner, nesting)
		}
	case []any:
		for i, inner := range v {
			v[i] = redactValue("", inner, nesting)
		}
	case string:
		// JSON within JSON: an envelope's payload, or one encoded twice by mistake.
		if text := strings.TrimSpace(v); strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
			if nesting == maxRedactNesting {
				return redacted
			}
			return redactText(text, nesting+1)
		}
	}
	return value
}

// personal tells whether a member's name, in any spelling, says that its value
// names a person.
func personal(spelled string) bool {
	name := plainName(spelled)
	switch name {
	case "eventid", "identity", "customer", "customerid", "carttoken", "cpf", "document", "name", "firstname", "lastname", "address",
		"user", "userid", "visitorid", "sessionid", "stream", "cookieid", "networkids":
		return true
	}
	return strings.Contains(name, "email") || scrub.NamesPhone(spelled)
}

// plainName is a member's name without the ways to spell it.
func plainName(spelled string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(spelled))
}
