package scrub

import (
	"strings"

	"github.com/tributary-io/tributary/internal/uuidtext"
)

// Proofs are values of one event that prove whose it is (docs/attribution.md, "Proof"):
// who reads one can send events that count as the buyer's. They must stand in no text.
type Proofs struct {
	values [maxProofs]string
	n      int
}

// maxProofs bounds the values that are looked for: the visitor's id, the cart's token, and
// parts of that.
const maxProofs = 4

// ProofsOf returns what proves an event: its cart's token, where that may be a secret, and its visitor's id,
// where that is a UUID. Of a token with signs of a URL ("gid://shopify/Cart/…?key=…") each
// part is one that may be a secret itself.
func ProofsOf(cartToken, visitorID string) (p Proofs) {
	if id := strings.TrimSpace(visitorID); uuidtext.Is(id) {
		p.add(id)
	}
	token, parts := strings.TrimSpace(cartToken), p.n
	if !mayProve(token) {
		return p
	}
	if !strings.ContainsAny(token, "/?&=#") {
		p.add(token)
		return p
	}
	for begin := 0; begin < len(token); {
		end := len(token)
		if n := strings.IndexAny(token[begin:], "/?&=#"); n >= 0 {
			end = begin + n
		}
		if mayProve(token[begin:end]) {
			p.add(token[begin:end])
		}
		begin = end + 1
	}
	if p.n == parts {
		p.add(token)
	}
	return p
}

// mayProve tells whether a value is as long as a secret token, and no number. More values than
// those that do prove (SecretToken) are looked for: a part of a token is judged without the rest.
func mayProve(value string) bool {
	return len(value) >= minToken && strings.ContainsFunc(value, func(r rune) bool { return r < '0' || r > '9' })
}

func (p *Proofs) add(value string) {
	if p.n < maxProofs {
		p.values[p.n] = value
		p.n++
	}
}

// Without puts "(id)" in the place of each value in a text: as it was sent, or, where the text has
// escapes, with any of its signs escaped and in any case. Text with none comes back without a copy.
func (p *Proofs) Without(text string) string {
	for _, value := range p.values[:p.n] {
		if len(text) < len(value) {
			continue
		}
		if strings.Contains(text, value) {
			text = strings.ReplaceAll(text, value, scrubbedID)
		}
		if strings.IndexByte(text, '%') >= 0 {
			text = withoutEscaped(text, value)
		}
	}
	return text
}

// WithoutCut is Without for a text whose end may have been cut off: what a value begins with goes from
// its end too.
func (p *Proofs) WithoutCut(text string) string {
	text = p.Without(text)
	for _, value := range p.values[:p.n] {
		for n := min(len(value), len(text)); n >= minToken/2; n-- {
			if strings.HasSuffix(text, value[:n]) {
				text = text[:len(text)-n]
				break
			}
		}
	}
	return text
}

// WithoutInJSON is Without for each string of a valid JSON text. Text that is not valid JSON
// gives "".
func (p *Proofs) WithoutInJSON(text string) string {
	if !p.mayBeIn(text) {
		return text
	}
	values := *p // kept by a function, which most events do not need
	return walkJSON(text, values.Without, 0)
}

// mayBeIn tells whether a JSON text may hold one of the values: it holds one as it is, or
// has escapes.
func (p *Proofs) mayBeIn(text string) bool {
	if p.n > 0 && (strings.IndexByte(text, '%') >= 0 || strings.IndexByte(text, '\\') >= 0) {
		return true
	}
	for _, value := range p.values[:p.n] {
		if strings.Contains(text, value) {
			return true
		}
	}
	return false
}

// withoutEscaped is Proofs.Without of one value in a text with escapes.
func withoutEscaped(text, value string) string {
	plain := make([]byte, 0, len(text))
	at := make([]int, 0, len(text)+1) // where each byte of plain begins in text
	for i := 0; i < len(text); {
		c, next := text[i], i+1
		if c == '%' {
			if escaped, _, end := escapedByte(text, i); end > 0 {
				c, next = escaped, end
			}
		}
		plain, at = append(plain, lower(c)), append(at, i)
		i = next
	}
	at = append(at, len(text))
	wanted, rest := strings.ToLower(value), string(plain)
	if len(wanted) != len(value) {
		return text // letters of other scripts: it stands as it is, or in no address
	}
	var out strings.Builder
	copied, begin := 0, 0
	for {
		n := strings.Index(rest[begin:], wanted)
		if n < 0 {
			break
		}
		begin += n
		out.WriteString(text[copied:at[begin]])
		out.WriteString(scrubbedID)
		begin += len(wanted)
		copied = at[begin]
	}
	if copied == 0 {
		return text
	}
	out.WriteString(text[copied:])
	return out.String()
}

// lower is a letter of ASCII in lower case.
func lower(c byte) byte {
	if isUpper(c) {
		return c + 'a' - 'A'
	}
	return c
}
