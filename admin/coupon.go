package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/tributary-io/tributary/internal/commerce"
)

// couponRecord is a coupon of a listing. An open end of its period is "".
type couponRecord struct {
	ID         string `json:"id"`
	CampaignID string `json:"campaignId"`
	Code       string `json:"code"`
	StartDate  string `json:"startDate"`
	EndDate    string `json:"endDate"`
}

// createCoupon is POST /influencers/coupons: a coupon of a campaign.
func (s *Server) createCoupon(_ context.Context, _ caller, o object) (change, error) {
	asked := commerce.NewCoupon{CampaignID: required(o, "campaign_id", text), CouponTerms: readCoupon(o)}
	o.bad.AddAll(asked.Check())
	return func(ctx context.Context, author commerce.Author) (answer, error) {
		made, err := s.deps.Database.AddCoupon(ctx, author, asked.CampaignID, asked.CouponTerms, s.random)
		var conflict *commerce.CouponConflictError
		switch {
		case errors.As(err, &conflict):
			return answer{}, couponConflict(conflict, "cupom")
		case err != nil:
			return answer{}, missing(err, notFound("there is no such campaign"))
		}
		return answer{data: couponRecord{made.CouponID, made.CampaignID, made.Code, made.StartDate, made.EndDate}}, nil
	}, o.broken()
}

// deleteCoupon is DELETE /influencers/coupons: ends the coupon now; earlier
// orders keep their credit.
func (s *Server) deleteCoupon(_ context.Context, _ caller, o object) (change, error) {
	named := commerce.NewCoupon{CampaignID: required(o, "campaign_id", text),
		CouponTerms: commerce.CouponTerms{Code: required(o, "cupom", text)}}
	o.bad.AddAll(named.Check())
	return func(ctx context.Context, author commerce.Author) (answer, error) {
		ended, err := s.deps.Database.DeleteCoupon(ctx, author, named.CampaignID, named.Code)
		if err != nil {
			return answer{}, missing(err, nothingDeleted("there is no such coupon in that campaign"))
		}
		data := outcomes{Message: "coupon removed"}
		for _, coupon := range ended {
			data.Data = append(data.Data,
				outcome{Message: fmt.Sprintf("%s removed; it was valid %s", coupon.Code, periodWords(coupon.StartDate, coupon.EndDate)),
					Status: http.StatusOK})
		}
		return answer{data: data}, nil
	}, o.broken()
}

// readCoupon reads a coupon. The caller checks it.
func readCoupon(o object) commerce.CouponTerms {
	code := required(o, "cupom", text)
	start, end := readPeriod(o, false)
	return commerce.CouponTerms{Code: strings.ToUpper(strings.TrimSpace(code)), StartDate: start, EndDate: end}
}

// couponConflict is the 409 that names the influencer and the period of each
// coupon that is in the way. field is the path of a coupon's code, with %d for
// its index where the request has several.
func couponConflict(e *commerce.CouponConflictError, field string) *problem {
	p := &problem{status: http.StatusConflict, code: codeCouponConflict,
		message: "a coupon's period overlaps that of the same code; nothing was stored"}
	for _, c := range e.Conflicts {
		path := field
		if strings.Contains(field, "%d") {
			path = fmt.Sprintf(field, c.Index)
		}
		p.details = append(p.details, detail{
			Field: path, Code: codeCouponConflict,
			Message:    fmt.Sprintf("%s is already %s's %s", c.Code, c.Influencer, periodWords(c.StartDate, c.EndDate)),
			Influencer: c.Influencer, StartDate: &c.StartDate, EndDate: &c.EndDate,
		})
	}
	return p
}

func periodWords(start, end string) string {
	switch {
	case start == "" && end == "":
		return "at all times"
	case start == "":
		return "until " + end
	case end == "":
		return "from " + start
	}
	return "from " + start + " to " + end
}

// readPeriod reads the texts of start_date and end_date.
func readPeriod(o object, startRequired bool) (start, end string) {
	if startRequired {
		start = required(o, "start_date", day)
	} else {
		start = optional(o, "start_date", day).Value
	}
	return start, optional(o, "end_date", day).Value
}
