package nuvemshop

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

// couponPages bounds the coupons that are looked at for one code.
const (
	couponPages = 5
	couponPage  = 200
)

// couponCode is what a code may be (TiendaNube/api-docs, "Coupons").
var couponCode = regexp.MustCompile(`^[0-9A-Za-z]{1,255}$`)

// shopCoupon is a coupon as the platform has it. Its dates are days of the shop, whose time zone is not told.
type shopCoupon struct {
	Code      platform.Scalar `json:"code"`
	Type      platform.Scalar `json:"type"` // percentage, absolute, shipping
	Value     platform.Scalar `json:"value"`
	Valid     bool            `json:"valid"`
	MaxUses   platform.Scalar `json:"max_uses"`
	StartDate platform.Scalar `json:"start_date"`
	EndDate   platform.Scalar `json:"end_date"`
	DeletedAt platform.Scalar `json:"deleted_at"`
}

// Coupon looks for a code: the filter q finds codes that are alike, too.
func (s *shop) Coupon(ctx context.Context, code string) (commerce.ShopCoupon, bool, error) {
	for page := 1; page <= couponPages; page++ {
		var list []shopCoupon
		query := url.Values{"q": {code}, "page": {strconv.Itoa(page)}, "per_page": {strconv.Itoa(couponPage)}}
		if _, err := s.read(ctx, "coupons", query, &list); err != nil {
			if platform.NotFound(err) {
				break
			}
			return commerce.ShopCoupon{}, false, err
		}
		for _, c := range list {
			if strings.EqualFold(c.Code.Text, code) && c.DeletedAt.Text == "" {
				found, err := c.read()
				return found, err == nil, err
			}
		}
		if len(list) < couponPage {
			break
		}
	}
	return commerce.ShopCoupon{}, false, nil
}

func (c *shopCoupon) read() (commerce.ShopCoupon, error) {
	out := commerce.ShopCoupon{Code: platform.Text(c.Code.Text, 255), Enabled: c.Valid, MaxUses: platform.Whole(c.MaxUses, 1_000_000_000)}
	if kind := c.Type.Text; kind == "percentage" || kind == "absolute" {
		if err := platform.TakesOff(&out, "value", c.Value, kind == "percentage"); err != nil {
			return out, err
		}
	}
	if c.EndDate.Text != "" {
		day, err := time.Parse(time.DateOnly, c.EndDate.Text[:min(len(c.EndDate.Text), len(time.DateOnly))])
		if err != nil {
			return out, platform.Unread("end_date")
		}
		out.EndsAt = day.AddDate(0, 0, 1).Add(-time.Second)
	}
	return out, nil
}

// CreateCoupon makes a coupon that counts at once. The platform ends coupons at the end of a day.
func (s *shop) CreateCoupon(ctx context.Context, c commerce.ShopCoupon) error {
	switch {
	case !couponCode.MatchString(c.Code):
		return platform.Unread("code: the platform takes letters and digits alone")
	case c.OnePerPerson:
		return platform.Unread("one_per_person: the platform has no such limit")
	case (c.Percent == "") == (c.Amount == ""):
		return platform.Unread("percent, or amount")
	}
	body := map[string]any{"code": c.Code, "type": "percentage", "value": c.Percent}
	if c.Amount != "" {
		body["type"], body["value"] = "absolute", c.Amount
	}
	if c.MaxUses > 0 {
		body["max_uses"] = c.MaxUses
	}
	if !c.EndsAt.IsZero() {
		body["start_date"] = time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly) // west of UTC it is still yesterday
		body["end_date"] = c.EndsAt.UTC().Format(time.DateOnly)
	}
	answer, err := s.request(ctx, http.MethodPost, "coupons", nil, body)
	if answer.Status == http.StatusUnprocessableEntity {
		return platform.Unread("the shop refused " + strings.Join(platform.FieldNames(answer.Body), ", "))
	}
	if err != nil {
		return err
	}
	var made shopCoupon
	if json.Unmarshal(answer.Body, &made) != nil || !strings.EqualFold(made.Code.Text, c.Code) {
		return &platform.Error{Reason: commerce.ShopUnknownWrite, Detail: "the answer names no coupon"}
	}
	return nil
}
