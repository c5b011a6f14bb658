package commerce

import (
	"fmt"
	"time"
)

// DataSubject names a customer or a visitor, in the words of data protection laws, who is to be erased, by at least one of these.
type DataSubject struct {
	Email      string
	Phone      string
	CustomerID string // as in an order's customer.customerId
	Visitor    string // the id of a browser (the cookie trb_id or trb_vid), or an order's userId
}

// fields returns the names of what is given, with the values.
func (p DataSubject) fields() [][2]string {
	return [][2]string{{"email", p.Email}, {"phone", p.Phone}, {"customer_id", p.CustomerID}, {"visitor", p.Visitor}}
}

// Kinds returns the names of what is given.
func (p DataSubject) Kinds() (names []string) {
	for _, f := range p.fields() {
		if f[1] != "" {
			names = append(names, f[0])
		}
	}
	return names
}

// maxPersonText is the longest of what names a person, in characters: as in an order.
const maxPersonText = 255

// Check returns every rule that the person breaks. Whether an e-mail or a phone is one is
// seen when it is hashed.
func (p DataSubject) Check() (bad Violations) {
	if len(p.Kinds()) == 0 {
		bad.Add("email", CodeEmpty, "is needed, or phone, customer_id or visitor: whom to erase")
	}
	for _, f := range p.fields() {
		if f[1] != "" {
			bad.filled(place{}, f[0], f[1], maxPersonText)
		}
	}
	return bad
}

// MaxErasing bounds the erasures of a company that are not done: for each one all of the
// company's events are looked at that name no visitor.
const MaxErasing = 1000

// ErrTooManyErasures refuses erasures beyond MaxErasing.
var ErrTooManyErasures = fmt.Errorf("%w: %d erasures are not done yet: ask again when some are", ErrConflict, MaxErasing)

// ErasedShop is the kind of an erasure of all customers of a shop's orders, beside DataSubject.Kinds.
const ErasedShop = "shop"

// States of an erasure.
const (
	Erasing = "erasing" // it was asked for, and the processor does it
	Erased  = "erased"

	// ErasingFiles: the database has nothing of the person any more, and exported files may: it is done once `tributary export` has
	// written them anew.
	ErasingFiles = "waiting_for_exports"
)

// Erasure is an erasure that was asked for.
type Erasure struct {
	ErasureID string    // UUID
	State     string    // Erasing, ErasingFiles or Erased
	Exports   []string  // that it waits for, of ErasingFiles: "<kind> <Export.Place>"
	Orders    int64     // erased so far
	Events    int64     // removed so far
	AskedAt   time.Time // of a list
	DoneAt    time.Time // of a list; zero: it is not done
	Kinds     []string  // of a list: of what the person was named by, as DataSubject.Kinds
}

// PersonFile says whose data is written to a file, and by whom: it is in the audit log, without who the person is.
type PersonFile struct {
	CompanyID string
	At        time.Time
	Kinds     []string // DataSubject.Kinds
	MostBytes int      // what is written at most; 0: 64 MiB
}
