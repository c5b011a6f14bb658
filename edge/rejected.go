package edge

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// maxRejectedBody is what a dead letter keeps of an event, in bytes after
// redaction; of a longer one only the digest stays.
const maxRejectedBody = 8 << 10

// rejectedRecord is the dead letter of an item that was refused.
func rejectedRecord(c *company, item *core.Item, at time.Time) (kafka.Record, error) {
	letter := wire.Rejected{
		V: 1, CompanyID: c.CompanyID, EventID: c.keys.EventID(item.Event.ID), Topic: wire.TopicEvents,
		Code: string(item.Err.Code), Reason: identity.Scrub(reason(item.Err)),
		Digest: c.keys.Digest([]byte(item.Text)), At: at.UTC().Truncate(time.Millisecond),
	}
	if len(item.Text) <= core.MaxEventBytes { // a larger one would cost too much to redact
		letter.Body = redact(item.Text)
	}
	value, err := json.Marshal(letter)
	return kafka.Record{Key: []byte(c.CompanyID), Value: value}, err
}

func reason(v *core.Violation) string {
	if v.Field == "" {
		return v.Message
	}
	return v.Field + " " + v.Message
}

const redacted = "(redacted)"

// redact returns an event without whom it names: without its identity, and
// without e-mails, phones and customer ids wherever they stand. Its eventId may
// be one: the letter has it, as a UUID or a keyed digest. A text that is not JSON
// gives "".
func redact(text string) string {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil || decoder.More() {
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
	if encoder.Encode(redactValue("", value)) != nil {
		return ""
	}
	body := identity.ScrubJSONStrict(strings.TrimSuffix(out.String(), "\n"))
	if len(body) > maxRejectedBody {
		return ""
	}
	return body
}

func redactValue(name string, value any) any {
	if value != nil && personal(name) {
		return redacted
	}
	switch v := value.(type) {
	case map[string]any:
		for member, inner := range v {
			v[member] = redactValue(member, inner)
		}
	case []any:
		for i, inner := range v {
			v[i] = redactValue("", inner)
		}
	case string:
		// JSON within JSON: an envelope's payload, or one encoded twice by mistake.
		if text := strings.TrimSpace(v); strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
			return redact(text)
		}
	}
	return value
}

// personal tells whether a member's name, in any spelling, says that its value
// names a person.
func personal(spelled string) bool {
	name := strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(spelled))
	switch name {
	case "eventid", "identity", "customer", "customerid", "carttoken", "cpf", "document", "name", "firstname", "lastname", "address",
		"user", "userid", "visitorid", "sessionid", "stream", "cookieid":
		return true
	}
	return strings.Contains(name, "email") || identity.NamesPhone(spelled)
}
