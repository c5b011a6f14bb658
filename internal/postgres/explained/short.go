package explained

import (
	"bytes"
	"slices"

	"github.com/tributary-io/tributary/internal/uuidtext"
	"github.com/tributary-io/tributary/sdk/core"
)

// A short text is an explanation in which bytes that no JSON has (below a space) stand for
// what it has often. They never change: other ones need another form.
const (
	idByte     = 0x01 // and the place of a UUID among the ids, from firstPlace on
	timeByte   = 0x02 // and how many milliseconds after the time in the last id, from firstPlace on
	amountByte = 0x03 // amountText
	modelsByte = 0x04 // modelsText
	partByte   = 0x08 // up to 0x1f: how a part of a model begins that names one of the touches
)

const (
	amountText = `,"amount":`
	modelsText = `,"models":{`

	firstPlace = 0x20
	mostPlaces = 0x100 - firstPlace
	mostParts  = 0x20 - partByte

	idBytes    = 16 // of a UUID
	timeLength = len("2006-01-02T15:04:05.000Z")
)

// shortener makes a short text.
type shortener struct {
	text    []byte
	out     []byte
	literal int    // where the bytes begin that are not in out yet
	ids     []byte // 16 bytes each, in the order in which they first come
	last    int64  // the time in the last id, Unix milliseconds; 0: none
	parts   [][]byte
}

// shorten returns the short form of a text and the ids that it names. ok is false where
// the text has bytes that would stand for something.
func shorten(text []byte) (short, ids []byte, ok bool) {
	s := shortener{text: text, out: make([]byte, 0, len(text)*3/4)}
	for i := 0; i < len(text); {
		n := 0
		switch c := text[i]; {
		case c < firstPlace:
			return nil, nil, false
		case c == '"':
			n = s.value(i)
		case c == ',':
			n = s.phrase(i)
		case c == '{':
			n = s.part(i)
		}
		i += max(n, 1)
	}
	return append(s.out, text[s.literal:]...), s.ids, true
}

// put writes what stands for the text from i up to end. It returns the length of that text.
func (s *shortener) put(i, end int, bytes ...byte) int {
	s.out = append(append(s.out, s.text[s.literal:i]...), bytes...)
	s.literal = end
	return end - i
}

// value shortens a whole JSON string that is a UUID or a time, but for its quotes. It
// returns how many bytes from i on are done, 0 where it is neither.
func (s *shortener) value(i int) int {
	rest := s.text[i+1:]
	if len(rest) > uuidtext.Length && rest[uuidtext.Length] == '"' && rest[8] == '-' {
		if id, ok := uuidtext.Parse(rest[:uuidtext.Length]); ok {
			if place := s.place(id[:]); place < mostPlaces {
				s.last = timeOf(id[:])
				return 1 + s.put(i+1, i+1+uuidtext.Length, idByte, byte(firstPlace+place))
			}
		}
	}
	if s.last != 0 && len(rest) > timeLength && rest[timeLength] == '"' && rest[timeLength-1] == 'Z' {
		var again [timeLength]byte
		ms, ok := core.ParseTime(string(rest[:timeLength]))
		if after := ms - s.last; ok && after >= 0 && after < mostPlaces && string(core.AppendTime(again[:0], ms)) == string(rest[:timeLength]) {
			return 1 + s.put(i+1, i+1+timeLength, timeByte, byte(firstPlace+after))
		}
	}
	return 0
}

// place returns the place of an id among the ids. It adds it where it is new and has room.
func (s *shortener) place(id []byte) int {
	for i := 0; i < len(s.ids); i += len(id) {
		if bytes.Equal(s.ids[i:i+len(id)], id) {
			return i / len(id)
		}
	}
	n := len(s.ids) / len(id)
	if n < mostPlaces {
		s.ids = append(s.ids, id...)
	}
	return n
}

func (s *shortener) phrase(i int) int {
	switch rest := s.text[i:]; {
	case bytes.HasPrefix(rest, []byte(amountText)):
		return s.put(i, i+len(amountText), amountByte)
	case bytes.HasPrefix(rest, []byte(modelsText)):
		s.parts = partsOf(s.text[:i])
		return s.put(i, i+len(modelsText), modelsByte)
	}
	return 0
}

func (s *shortener) part(i int) int {
	for n, part := range s.parts {
		if bytes.HasPrefix(s.text[i:], part) {
			return s.put(i, i+len(part), byte(partByte+n))
		}
	}
	return 0
}

// partsOf returns how a part of a model begins that names one of the touches before it:
// as encoding/json writes facts.ExplainedPart.
func partsOf(before []byte) (parts [][]byte) {
	const idText = `{"id":"`
	for len(parts) < mostParts {
		i := bytes.Index(before, []byte(idText))
		if i < 0 {
			break
		}
		touch := before[i+len(idText):]
		if end := bytes.IndexByte(touch, '}'); end >= 0 {
			touch = touch[:end]
		}
		before = before[i+len(idText)+len(touch):]
		part := slices.Concat([]byte(`{"touch":"`), upTo(touch, '"'), []byte(`","channel":"`), after(touch, `"channel":"`))
		if influencer := after(touch, `"influencer":"`); influencer != nil {
			part = slices.Concat(part, []byte(`","influencer":"`), influencer)
		}
		parts = append(parts, append(part, `","share":`...))
	}
	return parts
}

// after returns the text behind a name and before the next quote, nil where the name is
// not there.
func after(text []byte, name string) []byte {
	i := bytes.Index(text, []byte(name))
	if i < 0 {
		return nil
	}
	return upTo(text[i+len(name):], '"')
}

func upTo(text []byte, end byte) []byte {
	if i := bytes.IndexByte(text, end); i >= 0 {
		return text[:i]
	}
	return text
}

// lengthen returns the text that shorten was given. ok is false for bytes that it never
// returns.
func lengthen(short, ids []byte) (text []byte, ok bool) {
	text = make([]byte, 0, 3*len(short))
	var last int64
	var parts [][]byte
	for i := 0; i < len(short); i++ {
		c := short[i]
		switch {
		case c >= firstPlace:
			text = append(text, c)
		case c == amountByte:
			text = append(text, amountText...)
		case c == modelsByte:
			parts = partsOf(text)
			text = append(text, modelsText...)
		case c >= partByte:
			if int(c-partByte) >= len(parts) {
				return nil, false
			}
			text = append(text, parts[c-partByte]...)
		case c == idByte || c == timeByte:
			if i++; i == len(short) || short[i] < firstPlace {
				return nil, false
			}
			place := int(short[i] - firstPlace)
			if c == timeByte {
				text = core.AppendTime(text, last+int64(place))
				continue
			}
			if len(ids) < idBytes*(place+1) {
				return nil, false
			}
			id := ids[idBytes*place : idBytes*(place+1)]
			text, last = uuidtext.Append(text, id), timeOf(id)
		default:
			return nil, false
		}
	}
	return text, true
}

// timeOf is the time in a UUID of version 7, Unix milliseconds; 0 in another.
func timeOf(id []byte) int64 {
	if id[6]>>4 != 7 {
		return 0
	}
	return uuidtext.Time(id)
}
