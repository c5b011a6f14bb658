package explained

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// examples are the golden explanations, without white space.
func examples(t *testing.T) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob("../../attribution/testdata/explanations/*.json")
	if err != nil || len(names) < 20 {
		t.Fatalf("%d examples, %v", len(names), err)
	}
	texts := map[string][]byte{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, text); err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(name)] = compact.Bytes()
	}
	return texts
}

func roundTrip(t *testing.T, name string, text []byte) (packed []byte) {
	t.Helper()
	packed, err := Pack(text)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Unpack(packed); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%s: %q, %v", name, got, err)
	}
	return packed
}

func TestExplanationsAreReadAsTheyWereWritten(t *testing.T) {
	for name, text := range examples(t) {
		packed := roundTrip(t, name, text)
		if len(packed) > len(text)/6 {
			t.Errorf("%s: %d bytes of %d", name, len(packed), len(text))
		}
		if again, err := Pack(text); err != nil || !bytes.Equal(again, packed) {
			t.Errorf("%s: packed in two ways", name)
		}
	}
	roundTrip(t, "nothing", []byte{})
	roundTrip(t, "a large one", []byte(`["`+strings.Repeat("0123456789", 1<<20)+`"]`))
	r := rand.NewChaCha8([32]byte{1})
	for size := range 300 {
		noise := make([]byte, size*37)
		_, _ = r.Read(noise)
		roundTrip(t, "noise", noise)
	}
}

// Whatever looks like what has a short form, and has none, is read as it was written too.
func TestTextsWithoutAShortFormAreReadAsTheyWereWritten(t *testing.T) {
	id := func(n int) string { return fmt.Sprintf("019a19ca-3377-7100-8000-%012x", n) }
	var many, touches, parts strings.Builder
	for n := range 300 {
		fmt.Fprintf(&many, `{"id":"%s","at":"2025-10-25T05:14:33.%03dZ"},`, id(n), n)
		fmt.Fprintf(&touches, `{"id":"%s","channel":"c%d","influencer":"%d"},`, id(n), n%7, n%3)
		fmt.Fprintf(&parts, `{"touch":"%s","channel":"c%d","influencer":"%d","share":0.1,"amount":%d},`, id(n), n%7, n%3, n)
	}
	for name, text := range map[string]string{
		"more ids than have a place":    many.String(),
		"more touches than have a part": touches.String() + `,"models":{` + parts.String(),
		"models twice":                  `,"models":{` + parts.String() + touches.String() + `,"models":{` + parts.String(),
		"a touch that is cut off":       `{"id":"a,"models":{{"touch":"a`,
		"an id in upper case":           `"019A19CA-3377-7100-8000-00000000000A"`,
		"no UUID":                       `"019a19ca-3377-7100-8000-00000000000g" "{019a19ca-3377-7100-8000-0000000000}"`,
		"a time before its id's":        `"019a19ca-3377-7100-8000-000000000000" "2025-10-25T05:14:33.206Z"`,
		"a time in another form": `"019a19ca-3377-7100-8000-000000000000" "2025-10-25T05:14:33.208z" ` +
			`"2025-10-25T07:14:33.21+02:00" "2025-10-25T05:14:33.208999Z"`,
		"a time without an id":     `"2025-10-25T05:14:33.208Z"`,
		"an id of another version": `"019a19ca-3377-4100-8000-000000000000" "2025-10-25T05:14:33.208Z" "1970-01-01T00:00:00.001Z"`,
		"white space":              "{\n\t\"cuts\": []\n}",
		"an escaped quote, and a long name": `{"id":"a","channel":"\\"x","influencer":"` + strings.Repeat("é", 4000) +
			`"},"models":{{"touch":"a","channel":"\\","share":1`,
	} {
		roundTrip(t, name, []byte(text))
	}
}

func TestExplanationsArePackedAtTheSameTime(t *testing.T) {
	texts := examples(t)
	var all sync.WaitGroup
	for name, text := range texts {
		for range 4 {
			all.Go(func() {
				packed, err := Pack(text)
				if err != nil {
					t.Error(err)
				}
				if got, err := Unpack(packed); err != nil || !bytes.Equal(got, text) {
					t.Errorf("%s: %q, %v", name, got, err)
				}
			})
		}
	}
	all.Wait()
}

// What was written by an earlier version is read for ever.
func TestEachFormIsReadForEver(t *testing.T) {
	f := func(stored, want string) {
		t.Helper()
		bytes, err := hex.DecodeString(stored)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Unpack(bytes); err != nil || string(got) != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	f(storedShort, `{"order":{"orderId":"1001"},"touches":[{"id":"019a19ca-3377-7100-8000-000000000000","at":"2025-10-25T05:14:33.208Z",`+
		`"channel":"Ana Prado","influencer":"Ana Prado","used":true}],"cuts":[],"payout":{},`+
		`"models":{"last":[{"touch":"019a19ca-3377-7100-8000-000000000000","channel":"Ana Prado","influencer":"Ana Prado","share":1.000000,`+
		`"amount":250}]}}`)
	f(storedWhole, `{"order":{"orderId":"1001","total":250,"currency":"BRL"},"keys":[{"kind":"cart","strength":10,"hub":false,"visitors":1}]}`)
	for _, d := range []struct {
		text []byte
		want string
	}{{dictionaryWhole, wholeSum}, {dictionaryShort, shortSum}} {
		if sum := sha256.Sum256(d.text); hex.EncodeToString(sum[:]) != d.want {
			t.Errorf("a dictionary has changed: %x", sum)
		}
	}
}

const (
	storedWhole = "0128b52ffd0100011d01002032355d7d0800afa906e89a13a1625417dee92400a68e47af598d80a933e1a4dc0304"
	storedShort = "0201019a19ca337771008000000000000000010002ad0100740131227d21" +
		"416e6120507261646f7d04083235307d5d7d7d0900a0085932817ce63178720020b76c3eae7ca038e88313bee74220"
	shortSum = "e7c04f18d2fde29d068645841dc13eb897e066a50526ba71d07a295a2c11335b"
	wholeSum = "39a1b36598eae05ece019be5025e2cbb4a2b686e9c8c817e215d2800cbef7a7d"
)

func TestBytesThatNobodyWroteAreAnError(t *testing.T) {
	f := func(name string, stored []byte, want string) {
		t.Helper()
		if text, err := Unpack(stored); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	packed := roundTrip(t, "one", []byte(`{"order":{"orderId":"1001"}}`))
	f("nothing", nil, "nothing is stored")
	f("a form to come", []byte{3, 1, 2, 3}, "form 3 is not known")
	f("no ids", []byte{formShort}, "cut off")
	f("too few ids", append([]byte{formShort, 2}, make([]byte, 2*idBytes-1)...), "cut off")
	f("no frame", append([]byte{formShort, 1}, make([]byte, idBytes+3)...), "explanation: ")
	for name, short := range map[string]string{
		"an id that is not there": "\x01!", "an id without a place": "\x01", "a time without a place": "\x02\x01",
		"a part without models": "\x08",
		"a part of no touch":    "{\"id\":\"a\"}\x04\x09", "no token": "\x05", "a token to come": "\x00",
	} {
		e, err := encoderShort()
		if err != nil {
			t.Fatal(err)
		}
		frame := e.EncodeAll([]byte(short), nil)
		f(name, slices.Concat([]byte{formShort, 1}, make([]byte, idBytes), frame[len(magic):]), "stand for nothing")
	}
	f("cut off", packed[:len(packed)-1], "explanation: ")
	f("another dictionary", append([]byte{formWhole}, 0x28, 0xb5, 0x2f, 0xfd, 0x21, 0x07, 0x01, 0x09, 0x00, 0x00, 0x7b), "explanation: ")
}
