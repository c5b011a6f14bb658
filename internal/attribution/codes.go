package attribution

import (
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/fold"
)

// decidingCode chooses among the codes of an order's discountCodes: of those that are an
// influencer's coupon in force the one that took most off, then the first. One that took
// nothing off never decides. What a code took off may not be known: it comes after those
// of which it is. It returns the coupon, nil for none, and what the explanation says of
// each code.
func (x *Index) decidingCode(o *Order) (coupon *facts.Coupon, codes []facts.ExplainedCode) {
	best, most := -1, int64(-1)
	for i, shown := range facts.ShowCodes(o.DiscountCodes.Value, o.Currency) {
		code, sent := facts.ExplainedCode{ShownCode: shown}, o.DiscountCodes.Value[i]
		c := x.coupon([]string{fold.Code(sent.Code)}, o.Day, o.CreatedAt)
		if c != nil {
			code.Influencer, code.InfluencerID = x.InfluencerName(c.InfluencerID), c.InfluencerID
		}
		off := sent.AmountMinor.Or(0)
		switch {
		case sent.AmountMinor.Valid && off <= 0:
			code.Reason = facts.ReasonCodeNothing.Words()
		case c == nil:
			code.Reason = facts.ReasonCodeNobodys.Words()
		case off > most:
			coupon, best, most = c, i, off
		}
		codes = append(codes, code)
	}
	for i := range codes {
		code := &codes[i]
		switch {
		case i == best:
			code.Decides = true
		case code.Reason == "" && o.DiscountCodes.Value[i].AmountMinor.Or(0) < most:
			code.Reason = facts.ReasonCodeLess.Words()
		case code.Reason == "":
			code.Reason = facts.ReasonCodeLater.Words()
		}
	}
	return coupon, codes
}
