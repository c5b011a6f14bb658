package scrub

import (
	"encoding/hex"
	"net/url"
	"strings"

	"github.com/tributary-io/tributary/internal/identity"
)

// maxEncodings bounds in how many encodings within each other a text is looked for.
const maxEncodings = 3

// plainOf returns a token without what it is encoded in: percent signs, base64 or hexadecimal
// digits, of the whole token or, of the last two, of its parts. What repeats stands in it once.
func plainOf(token string) string {
	for range maxEncodings {
		before := token
		token = once(token)
		if plain, err := url.PathUnescape(token); err == nil {
			token = plain
		}
		if plain, ok := textInHex(token); ok {
			token = plain
		} else if plain, ok := textInBase64(token); ok {
			token = plain
		} else {
			token = withPlainParts(token)
		}
		if token == before {
			break
		}
	}
	return once(token)
}

// minEncoded is how long a part of a token is at least that is looked at as an encoded text:
// nine bytes of base64. Of random ones one in 8,000 is a text.
const minEncoded = 12

// withPlainParts returns a token with the texts in the place of its parts that are a text in
// base64 or in hexadecimal digits, as a JSON Web Token without a signature has.
func withPlainParts(token string) string {
	between := func(r rune) bool { return r > 'z' || !isWord(byte(r)) && strings.IndexByte("+/-=", byte(r)) < 0 }
	if !strings.ContainsFunc(token, between) {
		return token
	}
	for _, part := range strings.FieldsFunc(token, between) {
		if len(part) < minEncoded {
			continue
		}
		if plain, ok := textInHex(part); ok {
			token = strings.Replace(token, part, plain, 1)
		} else if plain, ok := textInBase64(part); ok {
			token = strings.Replace(token, part, plain, 1)
		}
	}
	return token
}

// textInHex returns the text of letters, digits and signs of e-mails, phones and times that a
// token is in hexadecimal digits, and false where it is none.
func textInHex(token string) (plain string, ok bool) {
	var buffer [identity.MaxID]byte
	if token == "" || !isHex(token[0]) || len(token) > 2*identity.MaxID {
		return "", false
	}
	n, err := hex.Decode(buffer[:], []byte(token))
	if err != nil || n < minEncoded/2 {
		return "", false
	}
	for _, c := range buffer[:n] {
		if !isWord(c) && strings.IndexByte(" @.+-:/=", c) < 0 {
			return "", false
		}
	}
	return string(buffer[:n]), true
}

// textInBase64 returns the text that a token is in base64, with either alphabet, and false
// where it is none: of random bytes hardly any are all printable.
func textInBase64(token string) (plain string, ok bool) {
	token = strings.TrimRight(token, "=")
	var buffer [identity.MaxID]byte
	text := buffer[:0]
	bits, held := 0, 0
	for i := range len(token) {
		digit := strings.IndexByte(base64Digits, token[i])
		switch token[i] {
		case '-':
			digit = 62
		case '_':
			digit = 63
		}
		if digit < 0 {
			return "", false
		}
		if held, bits = held<<6|digit, bits+6; bits >= 8 {
			bits -= 8
			c := byte(held >> bits)
			if c < ' ' || c > '~' {
				return "", false
			}
			text = append(text, c)
		}
	}
	return string(text), true
}

const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
