package nuvemshop

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

// order is an order as GET /orders gives it, version 2025-03: the fields that are read.
type order struct {
	ID             platform.Scalar           `json:"id"`
	StoreID        platform.Scalar           `json:"store_id"`
	Token          platform.Scalar           `json:"token"`
	Number         platform.Scalar           `json:"number"`
	Status         platform.Scalar           `json:"status"`
	PaymentStatus  platform.Scalar           `json:"payment_status"`
	CancelledAt    platform.Scalar           `json:"cancelled_at"`
	CreatedAt      platform.Scalar           `json:"created_at"`
	UpdatedAt      platform.Scalar           `json:"updated_at"`
	Currency       platform.Scalar           `json:"currency"`
	Total          platform.Scalar           `json:"total"`
	PaidByCustomer platform.Scalar           `json:"total_paid_by_customer"`
	Subtotal       platform.Scalar           `json:"subtotal"`
	Discount       platform.Scalar           `json:"discount"`
	DiscountCoupon platform.Scalar           `json:"discount_coupon"`
	Shipping       platform.Scalar           `json:"shipping_cost_customer"`
	Coupon         platform.List[coupon]     `json:"coupon"`
	Storefront     platform.Scalar           `json:"storefront"`
	LandingURL     platform.Scalar           `json:"landing_url"`
	Payment        platform.Object[payment]  `json:"payment_details"`
	Client         platform.Object[client]   `json:"client_details"`
	Customer       platform.Object[customer] `json:"customer"`
	ContactName    platform.Scalar           `json:"contact_name"`
	ContactEmail   platform.Scalar           `json:"contact_email"`
	ContactPhone   platform.Scalar           `json:"contact_phone"`
	Address        platform.Object[address]  `json:"shipping_address"`
	BillingCountry platform.Scalar           `json:"billing_country"`
	Products       platform.List[product]    `json:"products"`
}

type coupon struct {
	Code platform.Scalar `json:"code"`
	Type platform.Scalar `json:"type"`
}

type payment struct {
	Method       platform.Scalar `json:"method"`
	Installments platform.Scalar `json:"installments"`
}

type client struct {
	BrowserIP platform.Scalar `json:"browser_ip"`
	UserAgent platform.Scalar `json:"user_agent"`
}

type customer struct {
	ID    platform.Scalar `json:"id"`
	Name  platform.Scalar `json:"name"`
	Email platform.Scalar `json:"email"`
	Phone platform.Scalar `json:"phone"`
}

type address struct {
	Country platform.Scalar `json:"country"`
}

type product struct {
	ProductID platform.Scalar `json:"product_id"`
	VariantID platform.Scalar `json:"variant_id"`
	Quantity  platform.Scalar `json:"quantity"`
	Price     platform.Scalar `json:"price"`
}

// readItem reads one order of a list, or sets it aside. store is the id of the shop that was asked.
func readItem(body []byte, store string) platform.Item {
	return platform.ReadItem(body, func(o *order) (item platform.Item, err error) {
		item.ID = o.ID.Text
		item.CreatedAt, _ = platform.Time("created_at", o.CreatedAt) // zero where the order is set aside for it
		item.UpdatedAt, _ = platform.Time("updated_at", o.UpdatedAt)
		item.Order, err = o.read(store)
		return item, err
	})
}

// read maps an order to ours. Errors are *platform.Error: the field that cannot be read, or another shop.
func (o *order) read(store string) (*platform.Order, error) {
	id, err := platform.ID("id", o.ID)
	if err != nil {
		return nil, err
	}
	if o.StoreID.Text != "" && o.StoreID.Text != store {
		return nil, &platform.Error{Reason: commerce.ShopOtherShop, Detail: "store_id"}
	}
	out := &platform.Order{OrderID: id, Currency: o.Currency.Text, Codes: []platform.Code{}, Source: o.source()}
	if out.Status, err = o.state(); err != nil {
		return nil, err
	}
	if out.CreatedAt, err = platform.Time("created_at", o.CreatedAt); err != nil {
		return nil, err
	}
	if out.UpdatedAt, err = platform.Time("updated_at", o.UpdatedAt); err != nil {
		return nil, err
	}
	if err := o.money(out); err != nil {
		return nil, err
	}
	if err := o.items(out); err != nil {
		return nil, err
	}
	if out.Number, _ = strconv.ParseInt(o.Number.Text, 10, 64); out.Number > 0 {
		out.Name = "#" + strconv.FormatInt(out.Number, 10) // as the merchant's admin shows it: nobody there knows the id
	}
	out.PaymentMethod = paymentMethod(o.Payment.Value.Method.Text)
	out.Installments = platform.Whole(o.Payment.Value.Installments, 1000)
	out.Landing(o.LandingURL.Text)
	out.Browser(o.Client.Value.BrowserIP, o.Client.Value.UserAgent)
	out.Country = cmp.Or(o.Address.Value.Country.Text, o.BillingCountry.Text)
	// Without the permission read_customers there is no customer, but who was to be told of the order.
	c := o.Customer.Value
	out.Buyer(c.ID, cmp.Or(c.Name.Text, o.ContactName.Text), cmp.Or(c.Email.Text, o.ContactEmail.Text),
		cmp.Or(c.Phone.Text, o.ContactPhone.Text))
	out.CartToken = claim(o.Token.Text)
	return out, out.Tidy()
}

const partlyRefunded = "partially_refunded"

// state is orderStatus. "partially_paid", which a community description has, sets the order aside: it is neither paid nor unpaid.
func (o *order) state() (int, error) {
	if o.Status.Text == "cancelled" || o.CancelledAt.Text != "" {
		return 2, nil
	}
	if o.Status.Text != "open" && o.Status.Text != "closed" {
		return 0, platform.Unread("status is not known")
	}
	switch o.PaymentStatus.Text {
	case "paid", partlyRefunded:
		return 0, nil
	case "pending", "authorized":
		return 1, nil
	case "refunded", "voided", "abandoned":
		return 2, nil
	}
	return 0, platform.Unread("payment_status is not known")
}

// source is where the order comes from: "store" and "mobile" are the shop's pages, "meli" is Mercado Livre, "api", "form" and
// "pos" are made by hand or by other programs.
func (o *order) source() int {
	switch o.Storefront.Text {
	case "", "store", "mobile":
		return 0
	case "meli":
		return 1
	}
	return 3
}

// money reads the amounts and the codes. What a single coupon took off is discount_coupon; of several it is not told which took
// what. A coupon for the shipping takes nothing off there, and was applied all the same.
func (o *order) money(out *platform.Order) error {
	total, err := platform.Minor("total", o.Total, out.Currency)
	if err != nil {
		return err
	}
	if o.PaymentStatus.Text == partlyRefunded && out.Status == 0 {
		// Which amount a refund lowers is not documented, and no real store was looked at: the smaller one is left. The example of
		// version 2025-03 has total_paid_by_customer.
		paid, err := platform.Minor("total_paid_by_customer", o.PaidByCustomer, out.Currency)
		if err != nil {
			return err
		}
		total = min(total, paid)
	}
	out.TotalPrice = platform.Number(total, out.Currency)
	for _, part := range []struct {
		field string
		value platform.Scalar
		to    *json.Number
	}{{"discount", o.Discount, &out.Discounts}, {"shipping_cost_customer", o.Shipping, &out.Shipping}} {
		if part.value != (platform.Scalar{}) {
			minor, err := platform.Minor(part.field, part.value, out.Currency)
			if err != nil {
				return err
			}
			*part.to = platform.Number(minor, out.Currency)
		}
	}
	if o.Shipping == (platform.Scalar{}) && o.PaymentStatus.Text != partlyRefunded {
		out.Shipping = o.delivery(total, out.Currency)
	}
	if o.Coupon.Wrong {
		return platform.Unread("coupon is no list")
	}
	off := json.Number("")
	if len(o.Coupon.Values) == 1 && o.DiscountCoupon != (platform.Scalar{}) {
		minor, err := platform.Minor("discount_coupon", o.DiscountCoupon, out.Currency)
		if err != nil {
			return err
		}
		if kind := o.Coupon.Values[0].Type.Text; minor > 0 || kind == "percentage" || kind == "absolute" {
			off = platform.Number(minor, out.Currency)
		}
	}
	for _, c := range o.Coupon.Values {
		if c.Code.Wrong || c.Code.Text == "" {
			return platform.Unread("coupon[].code is no text")
		}
		out.AddCode(c.Code.Text, off)
	}
	return nil
}

// delivery is what the customer paid for the delivery where the order does not say it, as no example of version 2025-03 does: what
// is left of the total, which contains it, without the goods. "" where it cannot be told; after a refund of a part it cannot.
func (o *order) delivery(total int64, currency string) json.Number {
	subtotal, err := platform.Minor("subtotal", o.Subtotal, currency)
	if err != nil {
		return ""
	}
	var discount int64
	if o.Discount != (platform.Scalar{}) {
		if discount, err = platform.Minor("discount", o.Discount, currency); err != nil {
			return ""
		}
	}
	if rest := total - subtotal + discount; rest >= 0 && rest <= total {
		return platform.Number(rest, currency)
	}
	return ""
}

func (o *order) items(out *platform.Order) error {
	if o.Products.Wrong {
		return platform.Unread("products is no list")
	}
	for _, p := range o.Products.Values {
		price, err := platform.Minor("products[].price", p.Price, out.Currency)
		if err != nil {
			return err
		}
		quantity := platform.Whole(p.Quantity, commerce.MaxQuantity)
		if quantity == 0 {
			return platform.Unread("products[].quantity is no whole number")
		}
		item := platform.OrderItem{ProductID: platform.KnownID(p.ProductID), VariantID: platform.KnownID(p.VariantID),
			Quantity: quantity, Price: platform.Number(price, out.Currency)}
		item.ItemID = cmp.Or(item.VariantID, item.ProductID)
		out.Items = append(out.Items, item)
	}
	return nil
}

// paymentMethod is ours for payment_details.method; 0 where there is none.
func paymentMethod(method string) int {
	switch strings.ToLower(method) {
	case "":
		return 0
	case "credit_card":
		return 1
	case "wire_transfer":
		return 2
	case "boleto", "ticket":
		return 3
	case "pix":
		return 4
	}
	return 15
}

// claimLength is one character less than what a cart token needs to be taken for a proof.
const claimLength = 15

// claim is the beginning of an order's token. The page after the order can say the same if its LS.order.hash is that token, which
// is not documented; and the token stands in addresses. So it must not prove anything: it is too short to.
func claim(token string) string {
	if len(token) < claimLength {
		return ""
	}
	return token[:claimLength]
}
