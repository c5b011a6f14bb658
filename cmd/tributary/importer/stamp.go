package importer

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"io"
	"strconv"
	"strings"

	"github.com/tributary-io/tributary/sdk/core"
)

// The services recognize a line that is sent again: an order by its updatedAt,
// an event by its eventId. A line without gets one that is computed from the
// line, so that importing it again changes nothing. All other bytes of the line
// stay as they are: a price is never read as a float.

// CodeTimestampRequired is the code of a rejection that only the importer
// makes: a line that has neither eventId nor timestamp.
const CodeTimestampRequired = "timestamp_required"

// span is the place of a value in a line: the bytes [from, to).
type span struct{ from, to int }

func (s span) of(text []byte) []byte { return text[s.from:s.to] }

// replace returns a copy of text with value in place of the span.
func (s span) replace(text, value []byte) []byte {
	return append(append(append(make([]byte, 0, len(text)+len(value)), text[:s.from]...), value...), text[s.to:]...)
}

// values calls found for each member of a JSON object, or for each element of an
// array with the name "0", "1" and so on, in order. It returns early if the
// line is not JSON: such a line is rejected elsewhere.
func values(text []byte, found func(name string, at span)) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	opening, err := decoder.Token()
	if err != nil || opening != json.Delim('{') && opening != json.Delim('[') {
		return
	}
	for n := 0; decoder.More(); n++ {
		name := strconv.Itoa(n)
		if opening == json.Delim('{') {
			key, err := decoder.Token()
			if err != nil {
				return
			}
			name, _ = key.(string)
		}
		var value json.RawMessage
		if decoder.Decode(&value) != nil {
			return
		}
		end := int(decoder.InputOffset())
		found(name, span{end - len(value), end})
	}
}

func isNull(text []byte) bool { return string(text) == "null" }

// isEmptyText reports whether a value is a text of nothing but white space, which the admin
// API takes for an absent field.
func isEmptyText(value []byte) bool {
	var text string
	return json.Unmarshal(value, &text) == nil && !isNull(value) && strings.TrimSpace(text) == ""
}

// stampOrder gives an order without updatedAt, or with a null or empty one, its
// createdAt as updatedAt. Without that, the service would take the time of the
// import, and the imported version would win over newer ones: a cancelled order
// would be approved again. The service checks both.
func stampOrder(text []byte) []byte {
	var created, updated span // of several with one name the last, which the service reads too
	values(text, func(name string, at span) {
		switch name {
		case "createdAt":
			created = at
		case "updatedAt":
			updated = at
		}
	})
	if updated.to > 0 && !isNull(updated.of(text)) && !isEmptyText(updated.of(text)) || created.to == 0 {
		return text
	}
	if value := created.of(text); value[0] != '"' || isEmptyText(value) {
		return text // no time: the service rejects it
	}
	if updated.to > 0 {
		return updated.replace(text, created.of(text))
	}
	return span{created.to, created.to}.replace(text, append([]byte(`,"updatedAt":`), created.of(text)...))
}

// stampEvent gives an event without eventId, or with a null one, a UUIDv7 of
// its timestamp. The UUID's random bits are a digest of the company, the line's
// number and its bytes: so the same line of the same file is always the same
// event, and equal lines are different events. A line without a timestamp is
// rejected: the reasons are returned.
func stampEvent(companyID string, l line) ([]byte, []Reason) {
	names := [2]string{"eventId", "timestamp"}
	envelope := l.text[0] == '[' // ["r1", eventId, timestamp, …]
	if envelope {
		names = [2]string{"1", "2"}
	} else if l.text[0] != '{' {
		return l.text, nil // not an event: the edge rejects it
	}
	var id, instant span
	values(l.text, func(name string, at span) {
		switch {
		case name == names[0] && (id.to == 0 || isNull(id.of(l.text))): // of two the first that is not null, as the edge reads it
			id = at
		case name == names[1] && !isNull(at.of(l.text)):
			instant = at
		}
	})
	if id.to > 0 && !isNull(id.of(l.text)) || id.to == 0 && envelope {
		return l.text, nil
	}
	if instant.to == 0 {
		return nil, []Reason{{
			Code: CodeTimestampRequired, Field: "timestamp",
			Message: "a line without eventId needs a timestamp: without both, importing it again would count it twice",
		}}
	}
	ms, ok := core.TimeOf(string(instant.of(l.text)))
	if !ok || ms < 0 {
		return l.text, nil // the edge rejects it
	}
	quoted := strconv.Quote(eventID(companyID, l, ms))
	if id.to > 0 {
		return id.replace(l.text, []byte(quoted)), nil
	}
	return span{1, 1}.replace(l.text, []byte(`"eventId":`+quoted+`,`)), nil
}

// eventID returns a UUIDv7 of ms, Unix milliseconds, with 74 bits of the digest.
func eventID(companyID string, l line, ms int64) string {
	hash := sha256.New()
	_, _ = io.WriteString(hash, strconv.Quote(companyID)+" "+strconv.FormatInt(l.number, 10)+"\n") // a hash never fails
	_, _ = hash.Write(l.text)
	return string(core.AppendUUIDv7(nil, ms, [10]byte(hash.Sum(nil)[6:16])))
}
