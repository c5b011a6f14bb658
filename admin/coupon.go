package admin

import (
	"strings"

	"github.com/tributary-io/tributary/internal/commerce"
)

const maxCoupon = 100 // characters

// couponRecord is a coupon of a listing. An open end of its period is "".
type couponRecord struct {
	ID         string `json:"id"`
	CampaignID string `json:"campaignId"`
	Code       string `json:"code"`
	StartDate  string `json:"startDate"`
	EndDate    string `json:"endDate"`
}

func readCoupon(o object) commerce.CouponTerms {
	code := required(o, "cupom", func(value any) (string, *fault) {
		code, f := filled(maxCoupon)(value)
		if f == nil && commerce.FoldCode(code) == "" {
			f = &fault{"empty", "has no visible character"}
		}
		return code, f
	})
	start, end := readPeriod(o, false)
	return commerce.CouponTerms{Code: strings.ToUpper(strings.TrimSpace(code)), StartDate: start, EndDate: end}
}

// readPeriod reads start_date and end_date: inclusive days in order.
func readPeriod(o object, startRequired bool) (start, end string) {
	if startRequired {
		start = required(o, "start_date", date)
	} else {
		start = optional(o, "start_date", date).Value
	}
	end = optional(o, "end_date", date).Value
	if start != "" && end != "" && end < start {
		o.bad.add(o.at("end_date"), codeInvalidDate, "is before start_date")
	}
	return start, end
}
