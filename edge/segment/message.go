package segment

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"

	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/sdk/core"
)

// message is one call: what of it is read. Texts that are of another type in it are absent.
type message struct {
	call                            Call
	messageID                       string
	timestamp, originalTimestamp    string // JSON texts
	anonymousID, userID, previousID string
	event, name                     string
	properties, traits, context     string // JSON texts of objects, "" for none
}

// read reads a message's text.
func (m *message) read(text string) *core.Violation {
	s := core.Scan(text, 0)
	if s.Kind() != core.Object {
		return &core.Violation{Code: core.CodeInvalidEvent, Message: "must be an object"}
	}
	s.Enter()
	for name, ok := s.Key(); ok; name, ok = s.Key() {
		switch name {
		case "type":
			m.call = Call(textOf(&s))
		case "messageId":
			m.messageID = idOf(&s)
		case "timestamp":
			m.timestamp = s.Raw()
		case "originalTimestamp":
			m.originalTimestamp = s.Raw()
		case "anonymousId":
			m.anonymousID = idOf(&s)
		case "userId":
			m.userID = idOf(&s)
		case "previousId":
			m.previousID = idOf(&s)
		case "event":
			m.event = strings.TrimSpace(textOf(&s))
		case "name":
			m.name = textOf(&s)
		case "properties":
			m.properties = objectOf(&s)
		case "traits":
			m.traits = objectOf(&s)
		case "context":
			m.context = objectOf(&s)
		default:
			s.Skip()
		}
	}
	if s.Done() {
		return nil
	}
	switch s.Fault() {
	case core.TooDeep:
		return &core.Violation{Code: core.CodeTooDeep, Message: "is nested deeper than 32 levels"}
	case core.OutOfRange:
		return &core.Violation{Code: core.CodeNumberOutOfRange, Message: "holds a number beyond a 64-bit float"}
	}
	return &core.Violation{Code: core.CodeInvalidJSON, Message: "is not JSON"}
}

// textOf is the next value where it is a string, else "".
func textOf(s *core.Scanner) string {
	if s.Kind() == core.String {
		return s.Text()
	}
	s.Skip()
	return ""
}

// idOf is the next value where it is a string or a whole number, else "".
func idOf(s *core.Scanner) string {
	if s.Kind() != core.Number {
		return strings.TrimSpace(textOf(s))
	}
	if number := s.Raw(); !strings.ContainsAny(number, ".eE") {
		return number
	}
	return ""
}

// objectOf is the JSON text of the next value where it is an object, else "".
func objectOf(s *core.Scanner) string {
	if s.Kind() == core.Object {
		return s.Raw()
	}
	s.Skip()
	return ""
}

// at is the JSON text of when the message says that it happened: "" for never.
func (m *message) at() string {
	if m.timestamp != "" && m.timestamp != "null" {
		return m.timestamp
	}
	if m.originalTimestamp != "null" {
		return m.originalTimestamp
	}
	return ""
}

const day = 24 * 60 * 60 * 1000 // milliseconds

// eventID is the UUIDv7 of the message, the same each time the message comes: its time is
// the message's own, the rest a hash of whose it is, how far it is trusted and its
// messageId. A message without a time has that of the day on which it comes, so that it is known
// if it comes again that day. Without a messageId, or with a time that cannot be read, it is "".
func (m *message) eventID(from *Source) string {
	if m.messageID == "" {
		return ""
	}
	ms := from.Now - from.Now%day
	if at := m.at(); at != "" {
		var ok bool
		if ms, ok = core.TimeOf(at); !ok || !core.Recordable(ms) {
			return ""
		}
	}
	text := make([]byte, 0, 128)
	for _, part := range []string{from.CompanyID, string(from.Trust), m.messageID} {
		text = append(binary.AppendUvarint(text, uint64(len(part))), part...)
	}
	sum := sha256.Sum256(text)
	return string(core.AppendUUIDv7(nil, ms, [10]byte(sum[:10])))
}

// VisitorID is how an anonymousId names a visitor here, and in an order's userId. Segment's
// libraries take it from the page's address (ajs_aid) where that has one, so whoever writes a link
// may choose it: it must prove nothing, and a UUID alone would. What tells nobody apart is "".
func VisitorID(anonymousID string) string {
	if anonymousID = identity.NormalID(anonymousID); anonymousID == "" {
		return ""
	}
	return "segment:" + anonymousID
}
