package explained

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
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

// What was written once is read as long as the dictionary is the same.
func TestTheDictionaryStays(t *testing.T) {
	const want = "7d204c2e4d07c22eed1fee587fee81a1255d1175e078dab9e059c1b0112d79ab"
	if sum := sha256.Sum256(dictionary); hex.EncodeToString(sum[:]) != want {
		t.Errorf("the dictionary has changed: %x", sum)
	}
}

func TestBytesThatNobodyWroteAreAnError(t *testing.T) {
	packed := roundTrip(t, "one", []byte(`{"order":{"orderId":"1001"}}`))
	for name, stored := range map[string][]byte{
		"cut off": packed[:len(packed)-1], "no frame": []byte("{}"), "nothing": {},
		"another dictionary": {0x28, 0xb5, 0x2f, 0xfd, 0x21, 0x07, 0x01, 0x09, 0x00, 0x00, 0x7b},
	} {
		if text, err := Unpack(stored); err == nil || !strings.Contains(err.Error(), "explanation: ") {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}
