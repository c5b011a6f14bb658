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
	f("00"+hex.EncodeToString([]byte(`{"cuts": []}`)), `{"cuts": []}`)
	f(zstd1, `{"order":{"orderId":"1001","total":250,"currency":"BRL"},"keys":[{"kind":"cart","strength":10,"hub":false,"visitors":1}]}`)
	f(zstd2, `{"order":{"orderId":"1001","total":250,"currency":"BRL"},"keys":[{"kind":"cart","strength":10,"hub":false,"visitors":1}]}`)
	for _, d := range []struct {
		text []byte
		want string
	}{{dictionary1, dictionary1Sum}, {dictionary2, dictionary2Sum}} {
		if sum := sha256.Sum256(d.text); hex.EncodeToString(sum[:]) != d.want {
			t.Errorf("a dictionary has changed: %x", sum)
		}
	}
}

const (
	zstd1          = "0128b52ffd010001d500003031303032357d05005d0994c00191f05ba0316d8112c8e24220"
	zstd2          = "0228b52ffd0100021d01002032355d7d0800afa906e89a13a1625417dee92400a68e47af598d80a933e1a4dc0304"
	dictionary1Sum = "258424e22bacc85b4ab5f3c0704eb5a760a2500c1889751f0875ebae93da6367"
	dictionary2Sum = "39a1b36598eae05ece019be5025e2cbb4a2b686e9c8c817e215d2800cbef7a7d"
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
	f("cut off", packed[:len(packed)-1], "explanation: ")
	f("another dictionary", append([]byte{formZstd2}, 0x28, 0xb5, 0x2f, 0xfd, 0x21, 0x07, 0x01, 0x09, 0x00, 0x00, 0x7b), "explanation: ")
}
