package identity

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
)

// digestBytes is how much of an HMAC a digest of a file has: two persons of one company have the same once in 2^128.
const digestBytes = 16

// Digests makes what stands in exported files in place of what names a person. Not safe for concurrent use.
type Digests struct {
	mac  hash.Hash
	text []byte
	last map[string][2]string // by kind: a key and its digest. One visitor's events often follow each other
}

// Export makes the digests of one company's exported files. The hasher's secret is the operator's export key: no hash that
// the database has can be made with it, and none of the files' digests with the hashing secret.
func (h *Hasher) Export(companyID string) *Digests {
	return &Digests{mac: hmac.New(sha256.New, h.derive("tributary/k1/export/"+companyID, sha256.Size)), last: map[string][2]string{}}
}

// Of is the digest of a key as the database has it, "" for none: 32 hexadecimal digits, which no spreadsheet takes for a formula.
// Equal keys of one kind have equal digests, in all files of the company that are made with one export key.
func (d *Digests) Of(kind, key string) string {
	if key == "" {
		return ""
	}
	if last, found := d.last[kind]; found && last[0] == key {
		return last[1]
	}
	d.mac.Reset()
	d.text = append(append(append(d.text[:0], kind...), ':'), key...)
	d.mac.Write(d.text)
	digest := hex.EncodeToString(d.mac.Sum(nil)[:digestBytes])
	d.last[kind] = [2]string{key, digest}
	return digest
}

// Check is a text that tells export keys apart. No key can be found from it.
func (d *Digests) Check() string { return d.Of("check", "check") }
