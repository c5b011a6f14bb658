package commerce

import "strings"

// Of what ledger entries are.
const (
	OfOrder     = "order"
	OfAgreement = "agreement" // a fixed amount that was agreed with an influencer
	OfEntry     = "entry"     // a manual entry
)

// LedgerSubjects are the values by which a ledger can be narrowed.
var LedgerSubjects = []string{OfOrder, OfAgreement, OfEntry}

// accountMark begins an account of no order. No order's id can have it (IsID).
const accountMark = "\x01"

// AccountOf returns the account of an agreement, by its cost's id, or of a manual entry, by its own: what stands in a
// ledger in place of an order's id.
func AccountOf(of, id string) string { return accountMark + of + "/" + id }

// SplitAccount returns of what an account is, one of LedgerSubjects, and the id of that.
func SplitAccount(account string) (of, id string) {
	of, id, found := strings.Cut(strings.TrimPrefix(account, accountMark), "/")
	if !IsAccount(account) || !found {
		return OfOrder, account
	}
	return of, id
}

// IsAccount reports whether a text is the account of an agreement or of a manual entry, and so of no order.
func IsAccount(text string) bool { return strings.HasPrefix(text, accountMark) }

// shownAccount is an account as people and programs read it: an order's id, or "<of>/<id>".
func shownAccount(account string) string { return strings.TrimPrefix(account, accountMark) }

// IsLedgerAccount reports whether a text can stand in a ledger in place of an order's id, or is one.
func IsLedgerAccount(text string) bool { return IsID(shownAccount(text)) }
