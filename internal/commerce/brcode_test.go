package commerce

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
)

// The check value of CRC-16/CCITT-FALSE, and codes that others published (bacen/pix-api, issue 189).
func TestTheChecksumIsThatOfPublishedCodes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]uint16{
		"123456789": 0x29B1,
		"00020126410014br.gov.bcb.pix0119rayane@alvoz.com.br5204000053039865802BR5901N6001C62070503***6304": 0x3A81,
		"00020101021226770014BR.GOV.BCB.PIX2555pix.example.com/qr/93598be0-1bd0-4997-8318-81776a1d8a99" +
			"5204000053039865802BR5907EMPRESA6009SAO PAULO62070503***6304": 0xEEAB,
	} {
		if got := crc16([]byte(text)); got != want {
			t.Errorf("%s: %04X, want %04X", text, got, want)
		}
	}
}

// fieldsOf takes a BR Code apart.
func fieldsOf(t *testing.T, text string) map[string]string {
	t.Helper()
	fields := map[string]string{}
	for text != "" {
		if len(text) < 4 {
			t.Fatalf("%q is no field", text)
		}
		n, err := strconv.Atoi(text[2:4])
		if err != nil || len(text) < 4+n || fields[text[:2]] != "" {
			t.Fatalf("%q is no field", text)
		}
		fields[text[:2]], text = text[4:4+n], text[4+n:]
	}
	return fields
}

func TestABRCodeDecodesToItsFields(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	letters := []rune("abcXYZ çãÉñ'-.ß😀0189")
	keys := []string{"52998224725", "+5511987654321", strings.Repeat("a", 65) + "@example.com", "123e4567-e89b-12d3-a456-426614174000"}
	for range 2000 {
		name := make([]rune, r.IntN(60))
		for i := range name {
			name[i] = letters[r.IntN(len(letters))]
		}
		s := Statement{Influencer: string(name), Number: 1 + r.Int64N(1<<62), Currency: BRL,
			TotalMinor: decimal.NewFromInt(1 + r.Int64N(999_999_999_999))}
		key := keys[r.IntN(len(keys))]
		text, err := s.BRCode(Parties{}, Details{Pix: Pix{Type: PixRandom, Key: key}}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		body, sum := text[:len(text)-4], text[len(text)-4:]
		if sum != fmt.Sprintf("%04X", crc16([]byte(body))) {
			t.Errorf("%s: a bad checksum", text)
		}
		got := fieldsOf(t, text)
		account, more := fieldsOf(t, got["26"]), fieldsOf(t, got["62"])
		if account["00"] != "br.gov.bcb.pix" || account["01"] != key || got["54"] != s.TotalMinor.Shift(-2).StringFixed(2) ||
			got["53"] != "986" || got["58"] != "BR" || more["05"] != "EXT"+strconv.FormatInt(s.Number, 10) {
			t.Errorf("%q decodes to %v", text, got)
		}
		if len(more["05"]) > 25 || got["59"] == "" || len(got["59"]) > 25 || len(got["60"]) > 15 ||
			strings.ContainsFunc(text, func(r rune) bool { return r > 126 || r < 32 }) {
			t.Errorf("%q: a field is too long, or no ASCII", text)
		}
	}
}

func TestAStatementWithoutABRCodeSaysWhy(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	good := Statement{Influencer: "Ana", Number: 1, Currency: BRL, TotalMinor: decimal.NewFromInt(1)}
	key := Details{Pix: Pix{Type: PixCPF, Key: "52998224725"}}
	f := func(what string, s Statement, d Details, want error) {
		t.Helper()
		if text, err := s.BRCode(Parties{}, d, now); !errors.Is(err, want) || (err == nil) != (text != "") {
			t.Errorf("%s: %q, %v", what, text, err)
		}
	}
	changed := func(ago time.Duration) Details {
		d := key
		d.Changed = map[string]Touched{DetailPix: {At: now.Add(-ago)}}
		return d
	}
	dollars, negative, huge, open := good, good, good, good
	dollars.Currency = "USD"
	negative.TotalMinor = decimal.NewFromInt(-1)
	huge.TotalMinor = decimal.New(1, 13)
	open.Number = 0
	f("as it should be", good, key, nil)
	f("USD", dollars, key, ErrNotBRL)
	f("no key", good, Details{}, ErrNoPixKey)
	f("a key that was changed just now", good, changed(time.Hour), ErrNewPixKey)
	f("a key that was changed before", good, changed(48*time.Hour), nil)
	f("nothing to pay", negative, key, ErrNoBRCode)
	f("too much", huge, key, ErrNoBRCode)
	f("not closed", open, key, ErrNoBRCode)
	f("a long key", good, Details{Pix: Pix{Key: strings.Repeat("a", 90)}}, ErrNoBRCode)
}
