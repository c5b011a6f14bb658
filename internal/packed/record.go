package packed

import (
	"encoding/binary"
	"fmt"

	"github.com/tributary-io/tributary/internal/uuidtext"
	"github.com/tributary-io/tributary/sdk/core"
)

// Forms of a packed record: its first byte. They never change.
const (
	// plainRecord is followed by tokens.
	plainRecord = 1
	// digestedRecord is followed by 32 bytes, the digest of the record as it first
	// came, and then by tokens: what is stored is another text of the same JSON.
	digestedRecord = 2
)

// DigestLength is how many bytes a digest has.
const DigestLength = 32

// Beside is what a record's row has in columns of its own: the record itself need not
// have it again. It must be the same for packing and unpacking.
type Beside struct {
	CompanyID, EventID, Name, Visitor string
}

// texts are Beside's in the order of their tokens.
func (b *Beside) texts() [4]string { return [4]string{b.CompanyID, b.EventID, b.Name, b.Visitor} }

// Tokens of a packed record, by their first byte. What is below literalTokens is a
// run of so many characters more than one, which follow. What is from phraseTokens on
// is one of phrases. They never change; a record that needs others gets another form.
const (
	literalTokens = 64
	uuidToken     = 64 // 16 bytes follow
	keyToken      = 65 // 32 bytes follow: "k1:" and base64url
	timeToken     = 66 // a varint follows: milliseconds since the time before; written with three digits
	shortToken    = 67 // the same, written without zeros at the end
	copyToken     = 68 // two uvarints follow: how far back, and how many characters more than minCopy
	besideToken   = 72 // up to 75: one of Beside.texts
	phraseTokens  = 80
)

// maxRecord bounds what is made of copies, in bytes: far above what Kafka takes. Bytes
// that nothing wrote may stand for any number.
const maxRecord = 16 << 20

// minCopy is the shortest text that is copied from before: the token may take four
// bytes.
const minCopy = 6

// AppendRecord appends a record, packed. Where digest is not nil, it is stored with
// it: the record is another text of what came.
func AppendRecord(dst, record, digest []byte, beside Beside) []byte {
	if digest == nil {
		dst = append(dst, plainRecord)
	} else {
		dst = append(append(dst, digestedRecord), digest...)
	}
	p := packer{out: dst, text: record, book: recordPhrases, beside: beside.texts(), time: idTime(beside.EventID)}
	p.pack()
	return p.out
}

// packer packs one text.
type packer struct {
	out, text []byte
	book      *book
	beside    [4]string
	time      int64 // of the last time's token, Unix milliseconds
	literal   int   // where the characters begin that no token has yet
	seen      [1 << 9]uint16
}

// idTime is the time in an event's id, Unix milliseconds; 0 where it is no UUID.
func idTime(eventID string) int64 { return core.UUIDv7Time(eventID) }

func (p *packer) pack() {
	for i := 0; i < len(p.text); {
		if i > 0 && p.text[i-1] == '"' {
			if n := p.value(i); n > 0 {
				i += n
				p.literal = i
				continue
			}
		}
		if n := p.phrase(i); n > 0 {
			i += n
			p.literal = i
			continue
		}
		if n := p.again(i); n > 0 {
			i += n
			p.literal = i
			continue
		}
		i++
	}
	p.flush(len(p.text))
}

// flush writes the characters up to one that have no token yet.
func (p *packer) flush(end int) {
	for p.literal < end {
		n := min(end-p.literal, literalTokens)
		p.out = append(append(p.out, byte(n-1)), p.text[p.literal:p.literal+n]...)
		p.literal += n
	}
}

// token writes what is before a token, and its first byte.
func (p *packer) token(at int, first byte) {
	p.flush(at)
	p.out = append(p.out, first)
}

// value writes the token of a whole JSON string, which begins at i, behind its quote.
// It returns how many characters that are, 0 where it has none.
func (p *packer) value(i int) int {
	rest := p.text[i:]
	for n, text := range p.beside {
		if len(text) > 0 && len(rest) > len(text) && rest[len(text)] == '"' && string(rest[:len(text)]) == text {
			p.token(i, besideToken+byte(n))
			return len(text)
		}
	}
	if len(rest) > uuidtext.Length && rest[uuidtext.Length] == '"' {
		if id, ok := uuidtext.Parse(rest[:uuidtext.Length]); ok {
			p.token(i, uuidToken)
			p.out = append(p.out, id[:]...)
			return uuidtext.Length
		}
	}
	if len(rest) > keyLength && rest[keyLength] == '"' && string(rest[:len(keyPrefix)]) == keyPrefix {
		var key [32]byte
		if _, err := digits.Decode(key[:], rest[len(keyPrefix):keyLength]); err == nil {
			p.token(i, keyToken)
			p.out = append(p.out, key[:]...)
			return keyLength
		}
	}
	return p.instant(i)
}

const (
	keyPrefix  = "k1:"
	keyLength  = len(keyPrefix) + 43
	timeLength = len("2006-01-02T15:04:05.000Z")
)

// instant writes the token of a time.
func (p *packer) instant(i int) int {
	rest := p.text[i:min(i+timeLength+1, len(p.text))]
	n := len("2006-01-02T15:04:05")
	if len(rest) < n+2 || rest[4] != '-' || rest[10] != 'T' {
		return 0
	}
	for n < len(rest) && rest[n] != '"' {
		n++
	}
	if n == len(rest) {
		return 0
	}
	ms, ok := core.ParseTime(string(rest[:n]))
	if !ok {
		return 0
	}
	var again [timeLength]byte
	token := byte(timeToken)
	if written := core.AppendTime(again[:0], ms); string(written) != string(rest[:n]) {
		if token = shortToken; string(short(written)) != string(rest[:n]) {
			return 0
		}
	}
	p.token(i, token)
	p.out = binary.AppendVarint(p.out, ms-p.time)
	p.time = ms
	return n
}

// short returns a time that AppendTime wrote without the zeros at its end. It changes
// the time.
func short(written []byte) []byte {
	n := len(written) - 1 // the Z
	for written[n-1] == '0' {
		n--
	}
	if written[n-1] == '.' {
		n--
	}
	written[n] = 'Z'
	return written[:n+1]
}

// phrase writes the token of the longest phrase that begins at i.
func (p *packer) phrase(i int) int {
	rest := p.text[i:]
	if len(rest) < prefixLength {
		return 0
	}
	for n := p.book.first[prefixOf(rest)]; n != 0; n = p.book.next[n-1] {
		if text := p.book.phrases[n-1]; len(rest) >= len(text) && string(rest[:len(text)]) == text {
			p.token(i, phraseTokens+n-1)
			return len(text)
		}
	}
	return 0
}

// again writes the token of a text that was there before, and remembers the one here.
func (p *packer) again(i int) int {
	if i+minCopy > len(p.text) || i >= 1<<16 {
		return 0
	}
	slot := &p.seen[seenSlot(p.text[i:])]
	from := int(*slot) - 1
	*slot = uint16(i + 1)
	if from < 0 || *slot == 0 {
		return 0
	}
	n := 0
	for i+n < len(p.text) && p.text[from+n] == p.text[i+n] && p.text[i+n] != '"' {
		n++
	}
	if n < minCopy {
		return 0
	}
	p.token(i, copyToken)
	p.out = binary.AppendUvarint(p.out, uint64(i-from))
	p.out = binary.AppendUvarint(p.out, uint64(n-minCopy))
	return n
}

// seenSlot hashes the first bytes of a text (Fibonacci hashing).
func seenSlot(text []byte) uint32 {
	four := binary.LittleEndian.Uint32(text)
	two := uint32(binary.LittleEndian.Uint16(text[4:]))
	return (four ^ two<<11) * 2654435769 >> (32 - 9)
}

// Record returns the record that AppendRecord packed, and the digest that it was
// given; nil where it was given none. Other bytes are ErrPacked.
func Record(packed []byte, beside Beside) (record, digest []byte, err error) {
	if len(packed) > DigestLength && packed[0] == digestedRecord {
		digest, packed = packed[1:1+DigestLength], packed[1+DigestLength:]
	} else if len(packed) == 0 || packed[0] != plainRecord {
		return nil, nil, fmt.Errorf("%w: a record of an unknown form", ErrPacked)
	} else {
		packed = packed[1:]
	}
	u := unpacker{rest: packed, out: make([]byte, 0, 4*len(packed)+64), book: recordPhrases, beside: beside.texts(),
		time: idTime(beside.EventID)}
	if err := u.unpack(); err != nil {
		return nil, nil, err
	}
	return u.out, digest, nil
}

// unpacker unpacks one text.
type unpacker struct {
	rest, out []byte
	book      *book
	beside    [4]string
	time      int64
}

func (u *unpacker) unpack() error {
	for len(u.rest) > 0 {
		first := u.rest[0]
		u.rest = u.rest[1:]
		if !u.token(first) {
			return fmt.Errorf("%w: token %d of a record, %d bytes before its end", ErrPacked, first, len(u.rest))
		}
	}
	return nil
}

// token unpacks what a token stands for. It returns false where that is nothing.
func (u *unpacker) token(first byte) bool {
	switch {
	case first < literalTokens:
		text, ok := u.take(int(first) + 1)
		u.out = append(u.out, text...)
		return ok
	case first >= phraseTokens:
		if int(first-phraseTokens) >= len(u.book.phrases) {
			return false
		}
		u.out = append(u.out, u.book.phrases[first-phraseTokens]...)
		return true
	case first >= besideToken && first < besideToken+byte(len(u.beside)):
		u.out = append(u.out, u.beside[first-besideToken]...)
		return true
	}
	switch first {
	case uuidToken:
		id, ok := u.take(16)
		if ok {
			u.out = uuidtext.Append(u.out, id)
		}
		return ok
	case keyToken:
		key, ok := u.take(32)
		if ok {
			u.out = digits.AppendEncode(append(u.out, keyPrefix...), key)
		}
		return ok
	case timeToken, shortToken:
		return u.instant(first == shortToken)
	case copyToken:
		return u.again()
	}
	return false
}

// take returns the next bytes, and false where they are too few.
func (u *unpacker) take(n int) (bytes []byte, ok bool) {
	if len(u.rest) < n {
		return nil, false
	}
	bytes, u.rest = u.rest[:n], u.rest[n:]
	return bytes, true
}

func (u *unpacker) instant(isShort bool) bool {
	since, n := binary.Varint(u.rest)
	if n <= 0 {
		return false
	}
	u.rest = u.rest[n:]
	u.time += since
	begin := len(u.out)
	u.out = core.AppendTime(u.out, u.time)
	if isShort {
		u.out = u.out[:begin+len(short(u.out[begin:]))]
	}
	return true
}

func (u *unpacker) again() bool {
	back, n := binary.Uvarint(u.rest)
	if n <= 0 || back == 0 || back > uint64(len(u.out)) {
		return false
	}
	u.rest = u.rest[n:]
	more, n := binary.Uvarint(u.rest)
	if n <= 0 || more > maxRecord-minCopy-uint64(len(u.out)) || len(u.out) > maxRecord-minCopy {
		return false
	}
	u.rest = u.rest[n:]
	for from, last := len(u.out)-int(back), len(u.out)-int(back)+int(more)+minCopy; from < last; from++ {
		u.out = append(u.out, u.out[from])
	}
	return true
}
