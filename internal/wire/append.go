package wire

import (
	"encoding/json"
	"strconv"
	"time"
)

// AppendJSON appends the record as encoding/json would write it, without its
// reflection and without reading Body again: most of an order's cost in the admin
// API is this. Body must be JSON as encoding/json or AppendJSON wrote it.
func (c *Commerce) AppendJSON(dst []byte) ([]byte, error) {
	w := objectWriter{out: append(dst, '{')}
	w.integer("v", c.V)
	w.text("kind", string(c.Kind))
	w.text("id", c.ID)
	w.integer64("rev", c.Rev)
	w.text("companyId", c.CompanyID)
	w.time("acceptedAt", c.AcceptedAt)
	w.text("actor", c.Actor)
	body := c.Body
	if body == nil {
		body = json.RawMessage("null")
	}
	w.raw("body", body)
	return w.end()
}

// AppendJSON appends the order as encoding/json would write it. Personal must
// be JSON as encoding/json or AppendJSON wrote it.
func (o *Order) AppendJSON(dst []byte) ([]byte, error) {
	w := objectWriter{out: append(dst, '{')}
	w.text("orderId", o.OrderID)
	w.integer("orderStatus", o.Status)
	w.time("createdAt", o.CreatedAt)
	w.text("currency", o.Currency)
	w.integer64("totalMinor", o.TotalMinor)
	appendOptional(&w, "updatedAt", o.UpdatedAt, w.time)
	appendOptional(&w, "number", o.Number, w.integer64)
	appendOptional(&w, "name", o.Name, w.text)
	appendOptional(&w, "discountsMinor", o.DiscountsMinor, w.integer64)
	appendOptional(&w, "shippingMinor", o.ShippingMinor, w.integer64)
	appendOptional(&w, "paymentMethod", o.PaymentMethod, w.integer)
	appendOptional(&w, "installments", o.Installments, w.integer)
	appendOptional(&w, "discountCode", o.DiscountCode, w.text)
	appendOptional(&w, "provinceCode", o.ProvinceCode, w.text)
	appendOptional(&w, "countryCode", o.CountryCode, w.text)
	appendOptional(&w, "utmSource", o.UTMSource, w.text)
	appendOptional(&w, "utmMedium", o.UTMMedium, w.text)
	appendOptional(&w, "utmCampaign", o.UTMCampaign, w.text)
	appendOptional(&w, "utmContent", o.UTMContent, w.text)
	appendOptional(&w, "utmTerm", o.UTMTerm, w.text)
	appendOptional(&w, "userId", o.VisitorID, w.text)
	if o.UserIDMAC != MACNone {
		w.text("userIdMac", string(o.UserIDMAC))
	}
	appendOptional(&w, "source", o.Source, w.integer)
	appendOptional(&w, "isFirstOrder", o.IsFirstOrder, w.boolean)
	appendOptional(&w, "isRecurring", o.IsRecurring, w.boolean)
	appendOptional(&w, "emailKey", o.EmailKey, w.text)
	appendOptional(&w, "phoneKey", o.PhoneKey, w.text)
	appendOptional(&w, "customerKey", o.CustomerKey, w.text)
	appendOptional(&w, "cartKey", o.CartKey, w.text)
	appendOptional(&w, "cartNoKey", o.CartNoKey, w.text)
	appendOptional(&w, "netKey", o.NetKey, w.text)
	appendOptional(&w, "deliveredAt", o.DeliveredAt, w.time)
	appendOptional(&w, "items", o.Items, w.items)
	appendOptional(&w, "discountCodes", o.DiscountCodes, func(name string, codes []DiscountCode) { appendRare(&w, name, codes) })
	appendOptional(&w, "taxMinor", o.TaxMinor, w.integer64)
	appendOptional(&w, "test", o.Test, w.boolean)
	appendOptional(&w, "refunds", o.Refunds, func(name string, refunds []Refund) { appendRare(&w, name, refunds) })
	if len(o.Former) > 0 {
		appendRare(&w, "former", o.Former)
	}
	if len(o.Personal) > 0 {
		w.raw("personal", o.Personal)
	}
	return w.end()
}

// AppendJSON appends the personal part as encoding/json would write it.
func (p *Personal) AppendJSON(dst []byte) ([]byte, error) {
	w := objectWriter{out: append(dst, '{')}
	appendOptional(&w, "customer", p.Customer, w.customer)
	appendOptional(&w, "userAgent", p.UserAgent, w.text)
	appendOptional(&w, "browserIp", p.BrowserIP, w.text)
	appendOptional(&w, "cartToken", p.CartToken, w.text)
	appendOptional(&w, "userId", p.UserID, w.text)
	return w.end()
}

// objectWriter appends the fields of an object. It keeps a field's error and
// returns it at the end.
type objectWriter struct {
	out []byte
	err error
}

func appendOptional[T any](w *objectWriter, name string, field Optional[T], write func(name string, value T)) {
	switch {
	case field.Valid && field.Present:
		write(name, field.Value)
	case field.Present:
		w.raw(name, json.RawMessage("null"))
	}
}

func (w *objectWriter) end() ([]byte, error) { return append(w.out, '}'), w.err }

// name is one of ours: nothing in it needs escaping.
func (w *objectWriter) name(name string) {
	if w.out[len(w.out)-1] != '{' {
		w.out = append(w.out, ',')
	}
	w.out = append(append(append(w.out, '"'), name...), '"', ':')
}

func (w *objectWriter) raw(name string, value json.RawMessage) {
	w.name(name)
	w.out = append(w.out, value...)
}

func (w *objectWriter) integer(name string, value int) { w.integer64(name, int64(value)) }

func (w *objectWriter) integer64(name string, value int64) {
	w.name(name)
	w.out = strconv.AppendInt(w.out, value, 10)
}

func (w *objectWriter) boolean(name string, value bool) {
	w.name(name)
	w.out = strconv.AppendBool(w.out, value)
}

func (w *objectWriter) text(name, value string) {
	w.name(name)
	w.out = appendText(w.out, value)
}

// filled is a text that is left out where it is empty.
func (w *objectWriter) filled(name, value string) {
	if value != "" {
		w.text(name, value)
	}
}

func (w *objectWriter) time(name string, value time.Time) {
	w.name(name)
	out, err := value.AppendText(append(w.out, '"')) // RFC 3339, as MarshalJSON
	if err != nil {
		w.err = err
		return
	}
	w.out = append(out, '"')
}

func (w *objectWriter) items(name string, items []Item) {
	if items == nil {
		w.raw(name, json.RawMessage("null"))
		return
	}
	w.name(name)
	w.out = append(w.out, '[')
	for i := range items {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		item := &items[i]
		w.out = append(w.out, '{')
		w.filled("itemId", item.ItemID)
		w.filled("productId", item.ProductID)
		w.filled("variantId", item.VariantID)
		w.integer64("quantity", item.Quantity)
		w.filled("measure", item.Measure)
		w.filled("price", item.Price)
		w.filled("discount", item.Discount)
		w.filled("createdAt", item.CreatedAt)
		w.filled("updatedAt", item.UpdatedAt)
		w.out = append(w.out, '}')
	}
	w.out = append(w.out, ']')
}

// appendRare appends a field that few orders have, by encoding/json.
func appendRare[T any](w *objectWriter, name string, value T) {
	text, err := json.Marshal(value)
	if err != nil {
		w.err = err
		return
	}
	w.raw(name, text)
}

func (w *objectWriter) customer(name string, c Customer) {
	w.name(name)
	w.out = append(w.out, '{')
	appendOptional(w, "customerId", c.CustomerID, w.text)
	appendOptional(w, "name", c.Name, w.text)
	appendOptional(w, "email", c.Email, w.text)
	appendOptional(w, "phone", c.Phone, w.text)
	appendOptional(w, "provinceCode", c.ProvinceCode, w.text)
	appendOptional(w, "countryCode", c.CountryCode, w.text)
	appendOptional(w, "zip", c.Zip, w.text)
	appendOptional(w, "city", c.City, w.text)
	appendOptional(w, "createdAt", c.CreatedAt, w.time)
	appendOptional(w, "updatedAt", c.UpdatedAt, w.time)
	appendOptional(w, "birthdate", c.Birthdate, w.text)
	w.out = append(w.out, '}')
}

// appendText appends a JSON string. A text that needs an escape, or is not ASCII,
// goes through encoding/json: that is the rarer case.
func appendText(dst []byte, text string) []byte {
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ', c >= 0x80, c == '"', c == '\\', c == '<', c == '>', c == '&':
			quoted, _ := json.Marshal(text) // a string: it cannot fail
			return append(dst, quoted...)
		}
	}
	return append(append(append(dst, '"'), text...), '"')
}
