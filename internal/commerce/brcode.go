package commerce

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// PixRest is how long no BR Code is made after the key changed, unless a second person confirms it: whoever changed it would be
// paid at once. Whose log-in or password somebody made within LogInRest is no second person to them.
const (
	PixRest   = 48 * time.Hour
	LogInRest = 30 * 24 * time.Hour
)

// ErrSamePerson means that who confirms may be who made the change.
var ErrSamePerson = errors.New("who made the change, or somebody whose log-in they made, confirms it")

// Why a statement has no BR Code.
var (
	ErrNotBRL     = errors.New("Pix is in BRL alone")
	ErrNoPixKey   = errors.New("there is no Pix key")
	ErrNewPixKey  = errors.New("the Pix key changed within PixRest")
	ErrNoBRCode   = errors.New("the amount or the key does not fit a BR Code")
	errLongBRPart = errors.New("a part of a BR Code has more than 99 bytes")
)

// The bounds of a BR Code's fields (Bacen, Manual de Padrões para Iniciação do Pix; EMV MPM).
const (
	mostBRName   = 25
	mostBRAmount = 13
	brCity       = "BRASIL" // the receiver's city is required, and not known
)

// TxID is the statement's number as Pix carries it: 1 to 25 of A-Z and 0-9.
func (s Statement) TxID() string { return "EXT" + s.NumberText() }

// PaidTo returns the key to which a statement of these parties is paid at an instant, of an influencer who has details d: the key
// of the closing. Another one that the influencer has since then is paid to once a second person has confirmed it, or where there
// was none at the closing. Errors: ErrNoPixKey, also where the key was taken away since; ErrNewPixKey.
func (p Parties) PaidTo(d Details, at time.Time) (Pix, error) {
	changed := d.Changed[DetailPix].At
	key := p.Pix
	switch {
	case d.Pix == (Pix{}) && changed.After(p.PixChanged.At):
		return Pix{}, ErrNoPixKey
	case d.Pix != (Pix{}) && (d.PixConfirmed || key == (Pix{})):
		key = d.Pix
	}
	if changed.Before(p.PixChanged.At) {
		changed = p.PixChanged.At
	}
	switch {
	case key == (Pix{}):
		return Pix{}, ErrNoPixKey
	case changed.After(at.Add(-PixRest)) && !(d.PixConfirmed && key == d.Pix):
		return Pix{}, ErrNewPixKey
	}
	return key, nil
}

// PixChangedSince reports whether the influencer, who has details d, has another key than at the closing, or none any more.
func (p Parties) PixChangedSince(d Details) bool {
	return d.Pix != p.Pix && d.Changed[DetailPix].At.After(p.PixChanged.At)
}

// BRCode returns the "copia e cola" text of a Pix of what is paid of a statement of these parties (Parties.PaidTo). Errors:
// ErrNotBRL, ErrNoPixKey, ErrNewPixKey, ErrNoBRCode.
func (s Statement) BRCode(p Parties, d Details, at time.Time) (string, error) {
	if s.Currency != BRL {
		return "", ErrNotBRL
	}
	key, err := p.PaidTo(d, at)
	if err != nil {
		return "", err
	}
	amount := FormatSum(s.NetMinor(), BRL)
	if !s.NetMinor().IsPositive() || len(amount) > mostBRAmount || s.Number == 0 {
		return "", ErrNoBRCode
	}
	text, err := brCode(key.Key, brName(s.Influencer), amount, s.TxID())
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoBRCode, err)
	}
	return text, nil
}

// brCode writes a static BR Code: fields of an id, a length and a value, and a checksum of all of it.
func brCode(key, name, amount, txID string) (text string, err error) {
	field := func(id, value string) string {
		if len(value) > 99 {
			err = errLongBRPart
		}
		return id + fmt.Sprintf("%02d", len(value)) + value
	}
	text = field("00", "01") + field("26", field("00", "br.gov.bcb.pix")+field("01", key)) + field("52", "0000") + field("53", "986") +
		field("54", amount) + field("58", "BR") + field("59", name) + field("60", brCity) + field("62", field("05", txID)) + "6304"
	return text + fmt.Sprintf("%04X", crc16([]byte(text))), err
}

// crc16 is CRC-16/CCITT-FALSE: polynomial 0x1021, begun with 0xFFFF.
func crc16(data []byte) uint16 {
	sum := uint16(0xFFFF)
	for _, b := range data {
		sum ^= uint16(b) << 8
		for range 8 {
			if sum&0x8000 != 0 {
				sum = sum<<1 ^ 0x1021
			} else {
				sum <<= 1
			}
		}
	}
	return sum
}

// brName is a name in the letters that banks take: ASCII, without accents.
func brName(name string) string {
	var out strings.Builder
	for _, r := range norm.NFD.String(name) {
		if r == ' ' || r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			out.WriteRune(r)
		}
	}
	words := strings.Join(strings.Fields(out.String()), " ")
	if words == "" {
		return "INFLUENCIADOR"
	}
	return strings.TrimSpace(words[:min(len(words), mostBRName)])
}
