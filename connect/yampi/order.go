package yampi

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

// currency: Yampi sells in reais alone, and an order names none.
const currency = "BRL"

// order is an order of the API with its includes. Source: docs.yampi.com.br, "Pedidos" and the payloads of "Webhooks".
type order struct {
	ID        json.Number `json:"id"`
	Number    json.Number `json:"number"`
	CreatedAt instant     `json:"created_at"`
	UpdatedAt instant     `json:"updated_at"`
	Total     json.Number `json:"value_total"`
	Discount  json.Number `json:"value_discount"`
	Shipment  json.Number `json:"value_shipment"`
	Tax       json.Number `json:"value_tax"`
	IP        string      `json:"ip"`
	Source    string      `json:"utm_source"`
	Medium    string      `json:"utm_medium"`
	Campaign  string      `json:"utm_campaign"`
	Content   string      `json:"utm_content"`
	Term      string      `json:"utm_term"`
	Status    included[struct {
		Alias string `json:"alias"`
	}] `json:"status"`
	Promocode included[struct {
		Code string `json:"code"`
	}] `json:"promocode"`
	Marketplace included[json.RawMessage] `json:"marketplace"`
	Customer    included[struct {
		ID    json.Number `json:"id"`
		Name  string      `json:"generic_name"`
		Email string      `json:"email"`
		Phone struct {
			Full string `json:"full_number"`
		} `json:"phone"`
	}] `json:"customer"`
	Address included[struct {
		State   string `json:"uf"`
		Country string `json:"country"`
	}] `json:"shipping_address"`
	Transactions struct {
		Data []struct {
			Installments int `json:"installments"`
			Payment      included[struct {
				Alias  string `json:"alias"`
				Pix    bool   `json:"is_pix"`
				Billet bool   `json:"is_billet"`
				Card   bool   `json:"is_credit_card"`
			}] `json:"payment"`
		} `json:"data"`
	} `json:"transactions"`
	Items struct {
		Data []struct {
			SKUID     json.Number `json:"sku_id"`
			ProductID json.Number `json:"product_id"`
			Quantity  int         `json:"quantity"`
			Price     json.Number `json:"price"`
		} `json:"data"`
	} `json:"items"`
}

// included is {"data": {…}}; where there is nothing Yampi writes {"data": []}.
type included[T any] struct{ Data *T }

func (i *included[T]) UnmarshalJSON(text []byte) error {
	var outer struct {
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(text, &outer); err != nil {
		return err
	}
	if !bytes.HasPrefix(bytes.TrimSpace(outer.Data), []byte("{")) {
		return nil
	}
	i.Data = new(T)
	return json.Unmarshal(outer.Data, i.Data)
}

// instant is {"date": "2026-11-03 11:05:09.000000", "timezone": "America/Sao_Paulo"}; what is none is zero.
type instant struct{ time.Time }

func (i *instant) UnmarshalJSON(text []byte) error {
	var from struct {
		Date string `json:"date"`
		Zone string `json:"timezone"`
	}
	if err := json.Unmarshal(text, &from); err != nil {
		return err
	}
	zone, err := time.LoadLocation(from.Zone)
	if err != nil || from.Zone == "" {
		return nil
	}
	if at, err := time.ParseInLocation("2006-01-02 15:04:05", from.Date, zone); err == nil {
		i.Time = at.UTC()
	}
	return nil
}

// statuses by docs.yampi.com.br, "Status de pedidos": waiting, paid and sent, and none any more.
var statuses = map[string]int{
	"waiting_payment": 1, "pending": 1, "authorized": 1, // not captured yet
	"paid": 0, "handling_products": 0, "invoiced": 0, "ready_for_shipping": 0, "on_carriage": 0, "shipment_exception": 0, "delivered": 0,
	"cancelled": 2, "refused": 2, "refunded": 2, "chargeback": 2,
}

// readOrder turns an order of Yampi into ours. It is a pure function. Yampi documents no partial refunds of an order.
func readOrder(raw json.RawMessage) platform.Item {
	var from order
	if json.Unmarshal(raw, &from) != nil {
		var only struct{ ID json.Number }
		_ = json.Unmarshal(raw, &only)
		return platform.Unreadable(platform.Item{ID: string(only.ID)}, raw, platform.Unread("a field of another type than documented"))
	}
	item := platform.Item{ID: string(from.ID), UpdatedAt: from.UpdatedAt.Time, CreatedAt: from.CreatedAt.Time}
	if !soundID(item.ID) {
		return platform.Unreadable(item, raw, platform.Unread("id"))
	}
	if from.Status.Data == nil {
		return platform.Unreadable(item, raw, platform.Unread("status"))
	}
	status, known := statuses[from.Status.Data.Alias]
	if !known {
		return platform.Unreadable(item, raw, platform.Unread("status.data.alias"))
	}
	to := &platform.Order{
		OrderID: item.ID, Status: status, CreatedAt: item.CreatedAt, UpdatedAt: item.UpdatedAt, Currency: currency,
		TotalPrice: amount(from.Total), Discounts: amount(from.Discount), Shipping: amount(from.Shipment), Tax: amount(from.Tax),
		BrowserIP: from.IP, UTMSource: from.Source, UTMMedium: from.Medium, UTMCampaign: from.Campaign, UTMContent: from.Content,
		UTMTerm: from.Term, Codes: []platform.Code{},
	}
	to.Number, _ = from.Number.Int64()
	if p := from.Promocode.Data; p != nil && p.Code != "" {
		to.Codes = []platform.Code{{Code: p.Code}}
	}
	if from.Marketplace.Data != nil {
		to.Source = 1
	}
	if c := from.Customer.Data; c != nil {
		to.Customer = &platform.Customer{ID: string(c.ID), Name: c.Name, Email: c.Email, Phone: c.Phone.Full}
	}
	if a := from.Address.Data; a != nil {
		to.Province, to.Country = a.State, a.Country
	}
	to.PaymentMethod, to.Installments = from.payment()
	for _, line := range from.Items.Data {
		to.Items = append(to.Items, platform.OrderItem{
			ItemID: string(line.SKUID), VariantID: string(line.SKUID), ProductID: string(line.ProductID), Quantity: line.Quantity,
			Price: line.Price,
		})
	}
	if err := to.Tidy(); err != nil {
		return platform.Unreadable(item, raw, err)
	}
	item.Order = to
	return item
}

// payment is that of the last transaction: earlier ones were refused.
func (o *order) payment() (method, installments int) {
	for _, t := range o.Transactions.Data {
		p := t.Payment.Data
		switch {
		case p == nil:
			continue
		case p.Pix:
			method = 4
		case p.Billet:
			method = 3
		case p.Card:
			method = 1
		default:
			method = 15
		}
		installments = t.Installments
	}
	return method, installments
}

// amount is a JSON number in reais as text. What PHP's floats leave behind the cents (124.51999999999998) is rounded; more than that
// stays, and is refused as no amount of reais.
func amount(n json.Number) json.Number {
	d, err := commerce.ParseDecimal(string(n))
	if err != nil {
		return n
	}
	cents := d.Round(2)
	if d.Sub(cents).Abs().LessThan(decimal.New(1, -6)) {
		return json.Number(cents.StringFixed(2))
	}
	return n
}

// soundID: ids are put into addresses.
func soundID(id string) bool {
	return id != "" && len(id) <= 20 && strings.Trim(id, "0123456789") == ""
}
