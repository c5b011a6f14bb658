package commerce

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// PixRest is how long no BR Code is made after the key changed: whoever changed it would be paid at once.
const PixRest = 48 * time.Hour

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

// BRCode returns the "copia e cola" text of a Pix of what is paid of the statement to its influencer, who has details d, at an
// instant. Errors: ErrNotBRL, ErrNoPixKey, ErrNewPixKey, ErrNoBRCode.
func (s Statement) BRCode(d Details, at time.Time) (string, error) {
	switch {
	case s.Currency != BRL:
		return "", ErrNotBRL
	case d.Pix.Key == "":
		return "", ErrNoPixKey
	case d.Changed[DetailPix].At.After(at.Add(-PixRest)):
		return "", ErrNewPixKey
	}
	amount := FormatSum(s.NetMinor(), BRL)
	if !s.NetMinor().IsPositive() || len(amount) > mostBRAmount || s.Number == 0 {
		return "", ErrNoBRCode
	}
	text, err := brCode(d.Pix.Key, brName(s.Influencer), amount, s.TxID())
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
