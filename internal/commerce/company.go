package commerce

import (
	"encoding/base32"
	"fmt"
	"io"
	"strings"
	"time"
)

// Company is one environment of a store. Every row of a store's data belongs to
// one.
type Company struct {
	CompanyID   string
	StoreID     string // UUID
	Environment string // Live | Sandbox
	Name        string
	Settings
	RulesRev   int64
	CreatedAt  time.Time
	ArchivedAt time.Time // zero: not archived
}

// LostChanges says what directory.v1 has of a company that the database has not: it was restored from a backup.
type LostChanges struct {
	Rev   int64    // the highest revision that is lost
	Codes []string // short links that are newer there
}

// ErrArchived refuses a change of a company that is archived.
var ErrArchived = fmt.Errorf("%w: the company is archived", ErrConflict)

// Archiving says which companies to archive, or to take back into use.
type Archiving struct {
	CompanyIDs []string
	Back       bool   // they take events and orders again
	Actor      string // for the audit log
}

// Store is a merchant's store with its two companies.
type Store struct {
	StoreID string // UUID
	Name    string
	Live    Company
	Sandbox Company
}

// NewStore says which store to make. Defaults fills in what is empty.
type NewStore struct {
	Name     string
	Settings        // of both companies
	Actor    string // who made it, for the audit log: "cli", "user/<id>"

	// KeyCheck is identity.Hasher.Check. Its result goes into the directory, so
	// that an edge with another hashing secret refuses events that could join no
	// order. nil: the relay adds it.
	KeyCheck func(companyID string) string
	Random   io.Reader
}

// LowerBase32 is the alphabet of RFC 4648 in lower case. It is safe in URLs,
// headers and file names.
var LowerBase32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// NewID returns prefix + 16 characters of lower-case base32: 80 random bits.
func NewID(random io.Reader, prefix string) (string, error) {
	var raw [10]byte
	if _, err := io.ReadFull(random, raw[:]); err != nil {
		return "", fmt.Errorf("make an id: %w", err)
	}
	return prefix + LowerBase32.EncodeToString(raw[:]), nil
}

// codeAlphabet has no character that looks like another: no 0 O o, no 1 I l. Of
// the vowels it has a and e only, so that a code seldom is a word.
const codeAlphabet = "23456789abcdefghjkmnpqrstvwxyz"

// CodeLength of a short link: 30^8 ≈ 6.6e11 codes.
const CodeLength = 8

// NewShortCode returns a random code for a short link.
func NewShortCode(random io.Reader) (string, error) {
	var code strings.Builder
	var raw [1]byte
	for code.Len() < CodeLength {
		if _, err := io.ReadFull(random, raw[:]); err != nil {
			return "", fmt.Errorf("make a short code: %w", err)
		}
		// 240 is the greatest multiple of 30 in a byte: a byte from it on would make the first letters more likely.
		if raw[0] < 240 {
			code.WriteByte(codeAlphabet[int(raw[0])%len(codeAlphabet)])
		}
	}
	return code.String(), nil
}
