package e2e

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// planted is a value that names a shopper, and the place where it was sent.
type planted struct {
	door string
	// plain are its traces as a person reads them, in lower case; encoded are its
	// other traces (base64, hexadecimal, hashes without a key), letter by letter.
	plain, encoded []string
	// kept says that it may stand in order_personal and in an order record's
	// "personal", and has to be found there.
	kept bool
}

// plants makes values that name shoppers, each of them once.
type plants struct {
	list []planted
	keep bool // what is made next may stand in order_personal
}

// email is a new address. Its trace is the beginning of its local part, so that
// an address that was removed in part is found too.
func (p *plants) email(door string) string {
	trace := fmt.Sprintf("zq%03dmaria", len(p.list))
	address := trace + ".souza@example.com.br"
	p.add(door, []string{trace}, address, trace)
	return address
}

// phone is a new mobile number of Brazil: its area code and nine digits.
func (p *plants) phone(door string) string {
	n := len(p.list)
	areas := []int{11, 21, 31, 41, 51, 61, 71, 81, 85, 91}
	digits := fmt.Sprintf("%d9%08d", areas[n%len(areas)], 60_000_000+(n*7_654_321+1_234_567)%39_999_999)
	p.add(door, []string{digits}, digits, "55"+digits, "+55"+digits)
	return digits
}

// foreign is a new phone number of another country, with its country code and
// without a sign.
func (p *plants) foreign(door string) string {
	n := len(p.list)
	countries := []struct {
		code   string
		digits int
	}{{"4479", 8}, {"1415", 7}, {"3519", 8}, {"49151", 8}, {"54911", 8}, {"3361", 8}, {"9715", 8}}
	c := countries[n%len(countries)]
	digits := c.code + fmt.Sprintf("%0*d", c.digits, 2_000_000+(n*654_321+76_543)%7_999_999)
	p.add(door, []string{digits}, digits, "+"+digits)
	return digits
}

// customer is a new customer id, as a shop makes them.
func (p *plants) customer(door string) string {
	id := fmt.Sprintf("zq%03dcliente-88", len(p.list))
	p.add(door, []string{strings.TrimSuffix(id, "-88")}, id)
	return id
}

// person is a new name of a shopper, which only an order's personal part may hold.
func (p *plants) person(door string) string {
	name := fmt.Sprintf("Zq%03dNome Souza", len(p.list))
	p.add(door, []string{strings.ToLower(strings.TrimSuffix(name, " Souza"))}, name)
	return name
}

func (p *plants) add(door string, plain []string, spellings ...string) {
	it := planted{door: door, plain: plain, kept: p.keep}
	for _, s := range spellings {
		it.encoded = append(it.encoded, hex.EncodeToString([]byte(s)))
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			it.encoded = append(it.encoded, inBase64(encoding, s)...)
		}
		sums := [][]byte{sum256(s), sum1(s), sum5(s)}
		for _, sum := range sums {
			it.encoded = append(it.encoded, hex.EncodeToString(sum), base64.RawStdEncoding.EncodeToString(sum),
				base64.RawURLEncoding.EncodeToString(sum))
		}
	}
	slices.Sort(it.encoded)
	it.encoded = slices.Compact(it.encoded)
	p.list = append(p.list, it)
}

func sum256(s string) []byte { sum := sha256.Sum256([]byte(s)); return sum[:] }
func sum1(s string) []byte   { sum := sha1.Sum([]byte(s)); return sum[:] }
func sum5(s string) []byte   { sum := md5.Sum([]byte(s)); return sum[:] }

// inBase64 is what a text looks like somewhere inside of a longer one in base64:
// at each of the three places where it can begin in a group of three bytes.
func inBase64(encoding *base64.Encoding, s string) (all []string) {
	for before := range 3 {
		encoded := encoding.EncodeToString([]byte(strings.Repeat("x", before) + s))
		all = append(all, encoded[(before*8+5)/6:(before+len(s))*8/6])
	}
	return all
}

// found tells whether a trace of the value stands in a text.
func (p *planted) found(in *searched) bool {
	for _, trace := range p.plain {
		for _, form := range in.forms {
			if strings.Contains(form, trace) {
				return true
			}
		}
	}
	return slices.ContainsFunc(p.encoded, func(trace string) bool { return strings.Contains(in.raw, trace) })
}

// searched is a text, and what it says without its encodings.
type searched struct {
	raw string
	// forms are in lower case, without JSON's and URLs' escapes and fullwidth signs;
	// the second has none of the signs that people put into phone numbers either.
	forms [2]string
}

func search(text string) *searched {
	plain := escapedRune.ReplaceAllStringFunc(text, func(escape string) string {
		code, err := strconv.ParseUint(escape[len(escape)-4:], 16, 16)
		if err != nil {
			return escape
		}
		return string(rune(code))
	})
	for range 4 { // a URL inside of a URL inside of …
		plain = escapedByte.ReplaceAllStringFunc(plain, func(escape string) string {
			b, err := hex.DecodeString(escape[1:])
			if err != nil {
				return escape
			}
			return string(b)
		})
	}
	plain = strings.ToLower(strings.Map(func(r rune) rune {
		if r >= '！' && r <= '～' {
			return r - '！' + '!'
		}
		return r
	}, plain))
	return &searched{raw: text, forms: [2]string{plain, phoneSigns.Replace(plain)}}
}

var (
	escapedRune = regexp.MustCompile(`\\+u[0-9A-Fa-f]{4}`)
	escapedByte = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)
	phoneSigns  = strings.NewReplacer(" ", "", "(", "", ")", "", "-", "", ".", "", "+", "")
)
