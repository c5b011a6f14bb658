package importer

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"io"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/sdk/core"
)

// What makes a line known when it comes again: an order by its updatedAt, an
// event by its eventId. Lines that have none are given one out of what they
// hold, so that an import repeated changes nothing. A line's other bytes stay
// as they are: a price is never read as a float.

// CodeTimestampRequired is the one reason that the importer itself gives; the
// others are the services'.
const CodeTimestampRequired = "timestamp_required"

// span is where a value stands in a line.
type span struct{ from, to int }

func (s span) of(text []byte) []byte { return text[s.from:s.to] }

// replace puts value in the span's place.
func (s span) replace(text, value []byte) []byte {
	return append(append(append(make([]byte, 0, len(text)+len(value)), text[:s.from]...), value...), text[s.to:]...)
}

// values finds the values of a JSON object's members, or of an array's
// elements under "0", "1", …; found is called with each in order. A line that
// is no valid JSON ends it: the line is refused elsewhere.
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

// orderTime is how the admin API writes instants.
const orderTime = "2006-01-02T15:04:05Z"

// stampOrder gives an order without updatedAt, or with a null one, its
// createdAt as updatedAt. Else each import would make a version of the time it
// came, which wins over what was posted since: a cancelled order would be
// approved again. An order whose createdAt is none is left to the service's
// judgement.
func stampOrder(text []byte) []byte {
	var created, updated span // the last of each name: that is the one the service reads
	values(text, func(name string, at span) {
		switch name {
		case "createdAt":
			created = at
		case "updatedAt":
			updated = at
		}
	})
	if updated.to > 0 && !isNull(updated.of(text)) {
		return text
	}
	var instant string
	if json.Unmarshal(created.of(text), &instant) != nil || len(instant) != len(orderTime) {
		return text
	}
	if _, err := time.Parse(orderTime, instant); err != nil {
		return text
	}
	if updated.to > 0 {
		return updated.replace(text, created.of(text))
	}
	return span{created.to, created.to}.replace(text, append([]byte(`,"updatedAt":`), created.of(text)...))
}

// stampEvent gives an event without eventId, or with a null one, a UUIDv7 of
// its timestamp whose random bits are a digest of the company, the line's
// number and its bytes: the same line of the same file is the same event,
// equal lines are not. Without a timestamp there is no such id, and the reason
// to refuse the line is returned.
func stampEvent(companyID string, l line) ([]byte, []Reason) {
	names := [2]string{"eventId", "timestamp"}
	envelope := l.text[0] == '[' // ["r1", eventId, timestamp, …]
	if envelope {
		names = [2]string{"1", "2"}
	} else if l.text[0] != '{' {
		return l.text, nil // no event: the edge says so
	}
	var id, instant span
	values(l.text, func(name string, at span) {
		switch {
		case name == names[0] && (id.to == 0 || isNull(id.of(l.text))): // of two, the edge passes over a null
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
	var written string
	_ = json.Unmarshal(instant.of(l.text), &written) // what is no string is no time either
	ms, ok := core.ParseTime(written)
	if !ok || ms < 0 {
		return l.text, nil // the edge refuses it
	}
	made := strconv.Quote(eventID(companyID, l, ms))
	if id.to > 0 {
		return id.replace(l.text, []byte(made)), nil
	}
	return span{1, 1}.replace(l.text, []byte(`"eventId":`+made+`,`)), nil
}

// eventID is a UUIDv7 (RFC 9562) of ms with 74 bits of the digest.
func eventID(companyID string, l line, ms int64) string {
	hash := sha256.New()
	_, _ = io.WriteString(hash, strconv.Quote(companyID)+" "+strconv.FormatInt(l.number, 10)+"\n") // a hash takes all
	_, _ = hash.Write(l.text)
	id := uuid.UUID(hash.Sum(nil)[:16])
	for i := range 6 {
		id[i] = byte(ms >> (8 * (5 - i)))
	}
	id[6] = 0x70 | id[6]&0x0f // version 7
	id[8] = 0x80 | id[8]&0x3f // the RFC's variant
	return id.String()
}
