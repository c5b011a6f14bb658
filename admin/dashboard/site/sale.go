package site

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lang"
)

// Tile is one figure above a page.
type Tile struct {
	ID    string   `json:"id"`
	Label string   `json:"label"`
	Lines []string `json:"lines"` // one for each currency
	Note  string   `json:"note"`
	Size  string   `json:"size,omitempty"` // of the longest line
}

// OrderRow is an order as one line of a list.
type OrderRow struct {
	ID         string `json:"id"`
	Rev        int64  `json:"rev"` // processed at, Unix µs
	At         int64  `json:"at"`  // created at, Unix µs
	Time       string `json:"time"`
	Stamp      string `json:"stamp"` // RFC 3339, for <time>
	Name       string `json:"name"`
	Status     string `json:"status"` // approved | pending | cancelled: also a class
	StatusText string `json:"statusText"`
	Total      string `json:"total"`
	Size       string `json:"size,omitempty"` // of the total
	Credited   string `json:"credited"`
	// CreditedHref is the page of who is credited; empty: nobody is.
	CreditedHref string `json:"creditedHref,omitempty"`
	Campaign     string `json:"campaign"`
	Evidence     string `json:"evidence"` // coupon | link | assigned | none: also a class
	EvidenceIs   string `json:"evidenceText"`
	Commission   string `json:"commission"`
	Href         string `json:"href"`
}

// SizeOf returns the CSS class by which amounts of that length fit their place:
// "long" from ten million on, "longer" from a hundred billion on.
func SizeOf(lines ...string) string {
	longest := 0
	for _, line := range lines {
		longest = max(longest, utf8.RuneCountInString(line))
	}
	switch {
	case longest > 19:
		return "longer"
	case longest > 15:
		return "long"
	}
	return ""
}

// Breakable lets a long line break after the currency instead of within the digits.
func Breakable(line, size string) string {
	if size == "longer" {
		return strings.ReplaceAll(line, "\u00a0", " ")
	}
	return line
}

// ViewSale writes an order as a line, in the store's time zone.
func ViewSale(l *lang.Printer, s commerce.Sale, companyID string, zone *time.Location) OrderRow {
	at := s.CreatedAt.In(zone)
	row := OrderRow{
		ID: s.OrderID, Rev: s.ProcessedAt.UnixMicro(), At: s.CreatedAt.UnixMicro(),
		Time: at.Format("15:04"), Stamp: at.Format(time.RFC3339), Name: OrderName(s),
		Total: l.Money(s.TotalMinor, s.Currency), Credited: s.Influencer, Campaign: s.Campaign,
		CreditedHref: StorePath(InfluencerPath, companyID, "id", s.InfluencerID), Evidence: "none", Href: OrderPath(companyID, s.OrderID),
	}
	row.Size = SizeOf(row.Total)
	row.Total = Breakable(row.Total, row.Size)
	row.Status, row.StatusText = statusOf(l, s.Status)
	if s.Test {
		row.StatusText += " · " + l.T("status.test")
	}
	switch s.Evidence {
	case commerce.EvidenceCoupon:
		row.Evidence, row.EvidenceIs = "coupon", l.T("evidence.coupon")
	case commerce.EvidenceLink:
		row.Evidence, row.EvidenceIs = "link", l.T("evidence.link")
	case commerce.EvidenceAssigned:
		row.Evidence, row.EvidenceIs = "assigned", l.T("evidence.assigned")
	}
	if s.InfluencerID == "" {
		row.Credited, row.CreditedHref = l.T("sales.nobody"), ""
		if s.WaitsFor != "" {
			row.EvidenceIs = l.T("state.review")
		}
	} else if owed := s.Commissions(); owed != nil {
		parts := make([]string, len(owed))
		for i, a := range owed {
			parts[i] = l.Money(a.Minor, a.Currency)
		}
		key := "sales.row_commission"
		if s.Status == commerce.OrderPending {
			key = "sales.row_expected"
		}
		row.Commission = l.T(key, JoinAnd(l, parts))
	}
	return row
}

// StatusWords are the classes and the last words of the keys for orderStatus, by
// its number.
var StatusWords = [...]string{commerce.OrderApproved: "approved", commerce.OrderPending: "pending", commerce.OrderCancelled: "cancelled"}

func statusOf(l *lang.Printer, status int) (class, text string) {
	if status < 0 || status >= len(StatusWords) {
		return "pending", l.T("status.unknown")
	}
	word := StatusWords[status]
	return word, l.T("status." + word)
}

// JoinAnd joins texts as a sentence does: "R$ 1.00 and US$ 2.00".
func JoinAnd(l *lang.Printer, list []string) string {
	return strings.Join(list, " "+l.T("word.and")+" ")
}

// OrderName is what the shop calls an order, else its id.
func OrderName(s commerce.Sale) string {
	if s.Name != "" {
		return s.Name
	}
	return s.OrderID
}
