package site

import (
	"github.com/tributary-io/tributary/internal/lang"
	"github.com/tributary-io/tributary/internal/preview"
)

// ShareWords says who has what of an order: the influencer and the amount, and the state
// with the reason.
func ShareWords(l *lang.Printer, s *preview.Share) (who, about string) {
	if s == nil {
		return l.T("sales.nobody"), ""
	}
	who = s.Influencer + ": " + l.Sum(s.Amount.Minor, s.Amount.Currency)
	about, _ = StateWords(l, s.State, false)
	if s.Reason.Words() != "" {
		about = l.T("reason." + string(s.Reason))
	}
	if s.PayableOn != "" {
		about += ", " + l.T("moves.payable_on", l.Day(s.PayableOn))
	}
	return who, about
}
