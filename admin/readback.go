package admin

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/fold"
	"github.com/tributary-io/tributary/internal/reports"
	"github.com/tributary-io/tributary/internal/uuidtext"
	"github.com/tributary-io/tributary/internal/wire"
)

// Orders and products of a page.
const (
	maxListed     = 100
	defaultListed = 50
)

// orderRecord is an order as it is read back: the fields of POST /order without what
// names or describes the shopper, and who is paid.
type orderRecord struct {
	OrderID        string        `json:"orderId"`
	Number         *int64        `json:"number"`
	Name           *string       `json:"name"`
	OrderStatus    int           `json:"orderStatus"`
	CreatedAt      string        `json:"createdAt"`
	UpdatedAt      *string       `json:"updatedAt"`
	DeliveredAt    *string       `json:"deliveredAt"`
	TotalPrice     json.Number   `json:"totalPrice"`
	TotalDiscounts *json.Number  `json:"totalDiscounts"`
	ShippingPrice  *json.Number  `json:"shippingPrice"`
	PaymentMethod  *int          `json:"paymentMethod"`
	Installments   *int          `json:"installments"`
	Currency       string        `json:"currency"`
	DiscountCode   *string       `json:"discountCode"`
	ProvinceCode   *string       `json:"provinceCode"`
	CountryCode    *string       `json:"countryCode"`
	UTMSource      *string       `json:"utmSource"`
	UTMMedium      *string       `json:"utmMedium"`
	UTMCampaign    *string       `json:"utmCampaign"`
	UTMContent     *string       `json:"utmContent"`
	UTMTerm        *string       `json:"utmTerm"`
	IsFirstOrder   *bool         `json:"isFirstOrder"`
	Source         int           `json:"source"`
	Subscription   *subscription `json:"subscription"`
	Items          []itemRecord  `json:"items"`
	Payout         *payoutRecord `json:"payout"` // null until it is computed
	ProcessedAt    string        `json:"processedAt"`

	DiscountCodes []facts.ShownCode   `json:"discountCodes"` // null: not sent
	TaxPrice      *json.Number        `json:"taxPrice"`
	Test          bool                `json:"test"`
	NoCommission  bool                `json:"noCommission"`
	Refunds       []facts.ShownRefund `json:"refunds"`
}

type subscription struct {
	IsRecurring bool `json:"isRecurring"`
}

type itemRecord struct {
	ItemID    *string      `json:"item_id"`
	ProductID *string      `json:"productId"`
	VariantID *string      `json:"variantId"`
	Quantity  int64        `json:"quantity"`
	Price     *json.Number `json:"price"`
	Discount  *json.Number `json:"discount"`
	CreatedAt *string      `json:"createdAt"`
	UpdatedAt *string      `json:"updatedAt"`
}

// payoutRecord is who is paid for an order. Its words are those of the explanation.
type payoutRecord struct {
	State        string               `json:"state"`
	Reason       *string              `json:"reason"`
	InfluencerID *string              `json:"influencer_id"`
	Influencer   *string              `json:"influencer"`
	CampaignID   *string              `json:"campaign_id"`
	Campaign     *string              `json:"campaign"`
	Evidence     *string              `json:"evidence"`
	Proof        *string              `json:"proof"`
	Commissions  []facts.ExplainedSum `json:"commissions"` // each that is not zero, one for each currency
	PayableOn    *string              `json:"payable_on"`
}

// getOrder is GET /order/{orderId}.
func (s *Server) getOrder(ctx context.Context, r *http.Request, c caller) (answer, error) {
	orderID := r.PathValue("orderId")
	if !commerce.IsID(orderID) { // no order has such an id
		return answer{}, s.missingOrder(c.companyID, orderID)
	}
	stored, err := s.deps.Database.Order(ctx, c.companyID, orderID)
	if err != nil {
		return answer{}, missing(err, s.missingOrder(c.companyID, orderID))
	}
	record, err := recordOrder(&stored)
	return answer{data: record}, err
}

// listOrders is GET /orders.
func (s *Server) listOrders(ctx context.Context, r *http.Request, c caller) (answer, error) {
	query := r.URL.Query()
	o := queryObject(query)
	filter := readOrderFilter(o, query)
	q := readPage(o, query, defaultListed, maxListed, decodeCursor)
	if err := brokenRules(q.bad); err != nil {
		return answer{}, err
	}
	filter.After, filter.Limit = q.after, q.limit+1
	list, err := s.deps.Database.Orders(ctx, c.companyID, filter)
	if err != nil {
		return answer{}, err
	}
	records := make([]*orderRecord, min(len(list), q.limit))
	for i := range records {
		if records[i], err = recordOrder(&list[i]); err != nil {
			return answer{}, err
		}
	}
	_, paging := pageOf(list, q.limit, func(last commerce.StoredOrder) string {
		return encodeCursor(last.Cursor(records[q.limit-1].OrderID, !filter.UpdatedSince.IsZero()))
	})
	header, lines := orderTable(records)
	return q.answer(records, paging, header, lines), nil
}

// readOrderFilter reads the query of GET /orders, but for its page.
func readOrderFilter(o object, query url.Values) commerce.OrderFilter {
	f := commerce.OrderFilter{InfluencerID: optional(o, "influencer_id", given).Value}
	if text := optional(o, "text", given); text.Valid {
		switch f.Text = text.Value; {
		case !commerce.IsID(f.Text):
			o.bad.Add("text", commerce.CodeInvalidFormat, "must be 1 to %d characters", commerce.MaxID)
		case query.Has("coupon"), query.Has("updated_since"):
			o.bad.Add("text", commerce.CodeInvalidValue, "cannot be given with coupon or updated_since")
		}
	}
	if status := optional(o, "status", word); status.Valid {
		switch status.Value {
		case "0", "1", "2":
			n := int(status.Value[0] - '0')
			f.Status = &n
		default:
			o.bad.Add("status", commerce.CodeInvalidValue, "%s", "must be "+commerce.OrderStatuses)
		}
	}
	if f.InfluencerID != "" && !uuidtext.Is(f.InfluencerID) {
		o.bad.Add("influencer_id", commerce.CodeInvalidFormat, "must be a UUID")
	}
	if coupon := optional(o, "coupon", given); coupon.Valid {
		o.bad.CouponCode("coupon", coupon.Value)
		f.Coupon = fold.Code(coupon.Value)
	}
	from, to := optional(o, "start_date", day), optional(o, "end_date", day)
	for name, text := range map[string]string{"start_date": from.Value, "end_date": to.Value} {
		if _, err := commerce.ParseDay(text, time.UTC); text != "" && err != nil {
			o.bad.Add(name, commerce.CodeInvalidDate, "must be a real date written YYYY-MM-DD, of the years 1970 to 2199")
		}
	}
	if f.From, f.To = from.Value, to.Value; f.From != "" && f.To != "" && f.To < f.From {
		o.bad.Add("end_date", commerce.CodeInvalidDate, "is before start_date")
	}
	f.UpdatedSince = optional(o, "updated_since", timestamp).Value
	return f
}

// encodeCursor writes a place in a list of orders in base64, so that clients do not take
// it apart.
func encodeCursor(c commerce.Cursor) string {
	return base64.RawURLEncoding.EncodeToString([]byte(c.String()))
}

func decodeCursor(text string) (commerce.Cursor, error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return commerce.Cursor{}, commerce.ErrBadCursor
	}
	c, err := commerce.ParseCursor(string(raw))
	if err == nil && (c.IsZero() || c.OrderID == "") {
		err = commerce.ErrBadCursor
	}
	return c, err
}

// recordOrder is a stored order as it is read back.
func recordOrder(stored *commerce.StoredOrder) (*orderRecord, error) {
	var o wire.Order
	if err := json.Unmarshal(stored.Body, &o); err != nil {
		return nil, fmt.Errorf("stored order: %w", err)
	}
	amount := func(minor wire.Optional[int64]) *json.Number {
		if !minor.Valid {
			return nil
		}
		n := facts.Number(minor.Value, o.Currency)
		return &n
	}
	record := &orderRecord{
		OrderID: o.OrderID, Number: pointer(o.Number), Name: pointer(o.Name), OrderStatus: o.Status,
		CreatedAt: o.CreatedAt.UTC().Format(timestampFormat), UpdatedAt: instant(o.UpdatedAt), DeliveredAt: instant(o.DeliveredAt),
		TotalPrice: facts.Number(o.TotalMinor, o.Currency), TotalDiscounts: amount(o.DiscountsMinor), ShippingPrice: amount(o.ShippingMinor),
		PaymentMethod: pointer(o.PaymentMethod), Installments: pointer(o.Installments), Currency: o.Currency,
		DiscountCode: pointer(facts.CodesText(&o)),
		ProvinceCode: pointer(o.ProvinceCode), CountryCode: pointer(o.CountryCode),
		UTMSource: pointer(o.UTMSource), UTMMedium: pointer(o.UTMMedium), UTMCampaign: pointer(o.UTMCampaign), UTMContent: pointer(o.UTMContent),
		UTMTerm:      pointer(o.UTMTerm),
		IsFirstOrder: stored.IsFirstOrder, Source: o.Source.Or(commerce.SourceWeb),
		Items: []itemRecord{}, Payout: recordPayout(stored.Payout, o.Currency), ProcessedAt: stored.ProcessedAt.UTC().Format(timestampFormat),
		DiscountCodes: recordCodes(&o), Test: o.Test.Or(false), NoCommission: o.NoCommission.Or(false), Refunds: facts.ShowRefunds(&o),
	}
	if o.TaxMinor.Valid {
		tax := facts.Number(facts.TaxOf(&o), o.Currency)
		record.TaxPrice = &tax
	}
	if o.IsRecurring.Valid {
		record.Subscription = &subscription{o.IsRecurring.Value}
	}
	for _, item := range o.Items.Value {
		record.Items = append(record.Items, itemRecord{
			ItemID: orNull(item.ItemID), ProductID: orNull(item.ProductID), VariantID: orNull(item.VariantID), Quantity: item.Quantity,
			Price: decimalOrNull(item.Price), Discount: decimalOrNull(item.Discount), CreatedAt: orNull(item.CreatedAt),
			UpdatedAt: orNull(item.UpdatedAt),
		})
	}
	return record, nil
}

func recordPayout(p commerce.StoredPayout, currency string) *payoutRecord {
	if p.State == "" {
		return nil
	}
	record := &payoutRecord{
		State: p.State, Reason: orNull(p.Reason), InfluencerID: orNull(p.InfluencerID), Influencer: orNull(p.Influencer),
		CampaignID: orNull(p.CampaignID), Campaign: orNull(p.Campaign), Evidence: orNull(string(p.Evidence)), Proof: orNull(p.Proof),
		Commissions: []facts.ExplainedSum{}, PayableOn: orNull(p.PayableOn),
	}
	for _, sum := range []commerce.Amount{{Minor: p.CommissionMinor, Currency: currency}, {Minor: p.FixedBRLMinor, Currency: commerce.BRL}} {
		if sum.Minor != 0 {
			record.Commissions = append(record.Commissions,
				facts.ExplainedSum{Amount: facts.Number(sum.Minor, sum.Currency), Currency: sum.Currency})
		}
	}
	return record
}

// pointer is an optional field of an answer.
func pointer[T any](field wire.Optional[T]) *T {
	if !field.Valid {
		return nil
	}
	return &field.Value
}

func instant(field wire.Optional[time.Time]) *string {
	if !field.Valid {
		return nil
	}
	text := field.Value.UTC().Format(timestampFormat)
	return &text
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func decimalOrNull(text string) *json.Number {
	if text == "" {
		return nil
	}
	n := json.Number(text)
	return &n
}

// orderTable is orders as a table: one line an order, without items.
func orderTable(records []*orderRecord) (header []string, lines [][]string) {
	header = []string{"orderId", "number", "name", "orderStatus", "createdAt", "updatedAt", "deliveredAt", "totalPrice",
		"totalDiscounts", "shippingPrice",
		"currency", "discountCode", "utmSource", "utmMedium", "utmCampaign", "utmContent", "utmTerm", "isFirstOrder", "source", "items",
		"payout_state", "payout_reason", "influencer_id", "influencer", "campaign_id", "campaign", "evidence", "commission", "commission_brl",
		"payable_on", "processedAt", "taxPrice", "test", "discountCodes"}
	lines = make([][]string, len(records))
	for i, o := range records {
		p := o.Payout
		if p == nil {
			p = &payoutRecord{}
		}
		commission, brl := "", ""
		for _, sum := range p.Commissions {
			if sum.Currency == o.Currency {
				commission = sum.Amount.String()
			} else {
				brl = sum.Amount.String()
			}
		}
		lines[i] = []string{reports.CSVText(o.OrderID), cell(o.Number), textCell(o.Name), fmt.Sprint(o.OrderStatus), o.CreatedAt,
			cell(o.UpdatedAt), cell(o.DeliveredAt),
			o.TotalPrice.String(), cell(o.TotalDiscounts), cell(o.ShippingPrice), o.Currency, textCell(o.DiscountCode),
			textCell(o.UTMSource), textCell(o.UTMMedium), textCell(o.UTMCampaign), textCell(o.UTMContent), textCell(o.UTMTerm), cell(o.IsFirstOrder),
			fmt.Sprint(o.Source), fmt.Sprint(len(o.Items)),
			p.State, cell(p.Reason), cell(p.InfluencerID), textCell(p.Influencer), textCell(p.CampaignID), textCell(p.Campaign), cell(p.Evidence),
			commission, brl, cell(p.PayableOn), o.ProcessedAt,
			cell(o.TaxPrice), fmt.Sprint(o.Test), reports.CSVText(codesCell(o.DiscountCodes))}
	}
	return header, lines
}

// cell is a value of ours in a table; "" where there is none.
func cell[T any](value *T) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(*value)
}

// textCell is a text that somebody else chose.
func textCell(text *string) string { return reports.CSVText(cell(text)) }
