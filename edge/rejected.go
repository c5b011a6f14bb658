package edge

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
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
func rejectedRecord(companyID string, item *core.Item, at time.Time) (kafka.Record, error) {
	digest := sha256.Sum256([]byte(item.Text))
	letter := wire.Rejected{
		V: 1, CompanyID: companyID, EventID: identity.Scrub(item.Event.ID), Topic: wire.TopicEvents,
		Code: item.Err.Code, Reason: identity.Scrub(reason(item.Err)),
		Digest: hex.EncodeToString(digest[:]), Body: redact(item.Text), At: at.UTC().Truncate(time.Millisecond),
	}
	value, err := json.Marshal(letter)
	return kafka.Record{Key: []byte(companyID), Value: value}, err
}

func reason(v *core.Violation) string {
	if v.Field == "" {
		return v.Message
	}
	return v.Field + " " + v.Message
}

const redacted = "(redacted)"

// redact keeps the shape of an event, without whom it names: identities whole,
// and e-mails, phones and customer ids wherever they stand. What is not JSON
// cannot be told apart and gives "".
func redact(text string) string {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil || decoder.More() {
		return ""
	}
	if envelope, ok := value.([]any); ok && len(envelope) > 5 && envelope[5] != nil {
		envelope[5] = redacted // the identity
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(redactValue("", value)) != nil {
		return ""
	}
	body := identity.ScrubJSON(strings.TrimSuffix(out.String(), "\n"))
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

// personal knows the names under which people are named, in any spelling.
func personal(name string) bool {
	name = strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
	switch name {
	case "identity", "customer", "customerid", "carttoken", "user", "userid", "cpf", "document", "name", "firstname", "lastname", "address":
		return true
	}
	return strings.Contains(name, "email") || strings.Contains(name, "phone")
}
