package account

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func sealKeys(t *testing.T) *SealKeys {
	t.Helper()
	keys, err := NewSealKeys()
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestASealedTextOpensForItsPurposeAlone(t *testing.T) {
	keys, f, plain := sealKeys(t), SealedFor{"c_1", "conn", SealCredentials}, []byte(`{"token":"s3cr3t"}`)
	id, public := keys.Newest()
	sealed, err := Seal(public, id, f, plain)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(sealed, []byte("s3cr3t")) || len(sealed) != len(plain)+48 {
		t.Errorf("sealed to %d bytes: %q", len(sealed), sealed)
	}
	if got, err := keys.Open(id, f, sealed); err != nil || !bytes.Equal(got, plain) {
		t.Fatalf("%q %v", got, err)
	}
	for name, other := range map[string]SealedFor{
		"company": {"c_2", "conn", SealCredentials}, "connection": {"c_1", "other", SealCredentials},
		"purpose": {"c_1", "conn", SealAPIKey}, "parts moved": {"c_1c", "onn", SealCredentials},
	} {
		if got, err := keys.Open(id, other, sealed); !errors.Is(err, ErrSealed) || got != nil {
			t.Errorf("another %s: %q %v", name, got, err)
		}
	}
	if got, err := sealKeys(t).Open(id, f, sealed); !errors.Is(err, ErrSealed) || got != nil {
		t.Errorf("an unknown key: %q %v", got, err)
	}
	for n := range sealed {
		flipped := bytes.Clone(sealed)
		flipped[n] ^= 1
		if _, err := keys.Open(id, f, flipped); !errors.Is(err, ErrSealed) {
			t.Fatalf("byte %d flipped: %v", n, err)
		}
	}
	for _, short := range [][]byte{nil, {1}, sealed[:31], sealed[:47], sealed[:len(sealed)-1]} {
		if _, err := keys.Open(id, f, short); !errors.Is(err, ErrSealed) {
			t.Errorf("%d bytes: %v", len(short), err)
		}
	}
}

func TestSealRefusesAKeyThatIsNotItsID(t *testing.T) {
	one, two := sealKeys(t), sealKeys(t)
	id, _ := one.Newest()
	_, public := two.Newest()
	if _, err := Seal(public, id, SealedFor{"c", "n", SealAPIKey}, nil); err == nil {
		t.Error("sealed to another key than was named")
	}
	if _, err := Seal(public[:31], SealKeyID(public[:31]), SealedFor{"c", "n", SealAPIKey}, nil); err == nil {
		t.Error("sealed to half a key")
	}
	if _, _, err := one.Seal(SealedFor{"c", "", SealAPIKey}, nil); err == nil {
		t.Error("sealed without a connection")
	}
}

func TestRotatedKeysOpenWhatFormerOnesSealed(t *testing.T) {
	old, f := sealKeys(t), SealedFor{"c_1", "conn", SealAPIKey}
	sealed, oldID, err := old.Seal(f, []byte("key"))
	if err != nil {
		t.Fatal(err)
	}
	rotated, err := old.Rotated()
	if err != nil {
		t.Fatal(err)
	}
	text, err := rotated.Text()
	if err != nil {
		t.Fatal(err)
	}
	read, err := ParseSealKeys(text)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := read.Open(oldID, f, sealed); err != nil || string(got) != "key" {
		t.Errorf("%q %v", got, err)
	}
	anew, newID, err := read.Seal(f, []byte("key"))
	if err != nil || newID == oldID || read.IDs()[0] != newID || read.IDs()[1] != oldID {
		t.Errorf("%v %s of %v", err, newID, read.IDs())
	}
	if _, err := old.Open(newID, f, anew); !errors.Is(err, ErrSealed) {
		t.Errorf("a former file opened what a newer key sealed: %v", err)
	}
	// One key's id above another's private key.
	swapped := strings.ReplaceAll(strings.ReplaceAll(string(text), newID, "x"), oldID, newID)
	for _, bad := range []string{"", "{}", "[]", `{"keys":[{"id":"a","private":"!"}]}`, `{"keys":[{"id":"a","private":"AA=="}]}`, swapped} {
		if _, err := ParseSealKeys([]byte(bad)); err == nil {
			t.Errorf("read %q", bad)
		}
	}
	for range MaxSealKeys - 2 {
		if read, err = read.Rotated(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := read.Rotated(); !errors.Is(err, ErrTooManySealKeys) {
		t.Errorf("%v", err)
	}
}
