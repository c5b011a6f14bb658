package core

import (
	"strconv"
	"strings"
)

// maxQuantity is the largest item_quantity: it must fit a database's integer.
const maxQuantity = 1_000_000_000

// normalPayload rewrites the items of a commerce event as our own items[]
// {item_id, item_quantity}, whatever list they came in. All other members stay as
// they are. CHECKOUT_COMPLETED must have valid items. Other events keep items
// that cannot be read, because nobody is credited by them: unread tells of these, and of a
// list that may be elsewhere.
func normalPayload(event, payload string, out *string) (unread bool, v *Violation) {
	*out = payload
	if !hasItems(event) {
		return false, nil
	}
	strict := event == CheckoutCompleted
	list, name, elsewhere := itemList(payload)
	if list == "" {
		if strict {
			return elsewhere, &Violation{CodeItemsRequired, "payload.items", "must be an array of at least one item"}
		}
		return elsewhere, nil
	}
	items, changed, v := normalItems(list, strict)
	if v != nil {
		if strict {
			return false, v
		}
		return true, nil
	}
	if !changed && name == "items" {
		return false, nil
	}
	*out = replaceItems(payload, name, items)
	return false, nil
}

// hasItems tells whether an event's payload has items.
func hasItems(event string) bool {
	switch event {
	case ProductView, AddToCart, InitiateCheckout, CheckoutCompleted:
		return true
	}
	return false
}

// UnreadItems is what is wrong with the items of an event that is Unread, nil where nothing is.
func UnreadItems(e *Event) *Violation {
	if !hasItems(e.Name) {
		return nil
	}
	var out string
	_, v := normalPayload(CheckoutCompleted, e.Payload, &out)
	return v
}

// itemList finds the list of items and the member it is in: GA4's items,
// Segment's products, Shopify's lineItems and line_items, the former also
// inside checkout, as its web pixels have it. elsewhere tells that a member may have a list
// that is not read: Meta's contents, or ecommerce of a GA4 data layer.
func itemList(payload string) (list, name string, elsewhere bool) {
	if payload == "" {
		return "", "", false
	}
	s := scanKnown(payload, 1)
	s.Enter()
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		switch key {
		case "items", "products", "lineItems", "line_items":
			if key == "items" || name != "items" {
				if s.Kind() == Array {
					list, name = s.Raw(), key
					continue
				}
				if key == "items" { // the known field, of another type
					list, name = "", key
				}
			}
		case "checkout":
			if name == "" && s.Kind() == Object {
				list = inCheckout(s.Raw())
				if list != "" {
					name = key
				}
				continue
			}
		case "contents", "ecommerce":
			elsewhere = true
		}
		s.Skip()
	}
	return list, name, elsewhere
}

func inCheckout(checkout string) (list string) {
	s := scanKnown(checkout, 2)
	s.Enter()
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		if key == "lineItems" && s.Kind() == Array {
			list = s.Raw()
			continue
		}
		s.Skip()
	}
	return list
}

// normalItems checks a list. It rewrites the list if an item has other names for
// its members.
func normalItems(list string, strict bool) (items string, changed bool, v *Violation) {
	var b []byte
	s := scanKnown(list, 2)
	s.Enter()
	n := 0
	for s.Element() {
		raw := s.Raw()
		item, v := readItem(raw, n, strict)
		if v != nil {
			return "", false, v
		}
		if b == nil && !item.canonical() {
			// The items before were canonical: they stay as they are in list.
			b = append(make([]byte, 0, len(list)), list[:s.at-len(raw)]...)
		} else if b != nil && n > 0 {
			b = append(b, ',')
		}
		if b != nil {
			b = item.append(b)
		}
		n++
	}
	if n == 0 && strict {
		return "", false, &Violation{CodeItemsRequired, "payload.items", "must be an array of at least one item"}
	}
	if b == nil {
		return list, false, nil
	}
	return string(append(b, ']')), true, nil
}

// item is one item as it was read: which of its members are its id and its
// quantity.
type item struct {
	raw          string
	idName, id   string
	quantityName string
	quantity     int64
	rewritten    bool // its id or quantity is written in another way
}

// idRank orders the members that may name the thing sold: ours first, then the
// closest to a catalogue's entry. 0 is none of them.
func idRank(name string) int {
	switch name {
	case "item_id":
		return 6
	case "variant_id", "variantId":
		return 5
	case "product_id", "productId":
		return 4
	case "id":
		return 3
	case "sku":
		return 2
	}
	return 0
}

func quantityRank(name string) int {
	switch name {
	case "item_quantity":
		return 2
	case "quantity":
		return 1
	}
	return 0
}

func readItem(raw string, n int, strict bool) (item, *Violation) {
	it := item{raw: raw}
	invalid := func(field, message string) (item, *Violation) {
		return it, &Violation{CodeInvalidPayload, "payload.items[" + strconv.Itoa(n) + "]" + field, message}
	}
	s := scanKnown(raw, 3)
	if s.Kind() != Object {
		return invalid("", "must be an object")
	}
	s.Enter()
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		if key == "variant" && idRank(it.idName) < idRank("variant_id") && s.Kind() == Object {
			if id := variantID(s.Raw()); id != "" {
				it.idName, it.id = "variant_id", id
			}
			continue
		}
		if idRank(key) > idRank(it.idName) && s.Kind() != Null {
			number := s.Kind() == Number
			if id, ok := itemID(&s); ok {
				if id == "" { // as absent
					continue
				}
				it.idName, it.id, it.rewritten = key, id, it.rewritten || number
				continue
			}
			if key == "item_id" {
				return invalid(".item_id", "must be a string or a whole number")
			}
			continue
		} else if quantityRank(key) > quantityRank(it.quantityName) && s.Kind() != Null {
			q, whole, ok := itemQuantity(&s)
			if ok && q == 0 { // as absent
				it.rewritten = true
				continue
			}
			if !ok {
				return invalid("."+key, "must be a number above 0, up to 1000000000")
			}
			it.quantityName, it.quantity, it.rewritten = key, q, it.rewritten || !whole
			continue
		}
		s.Skip()
	}
	if it.id == "" {
		return invalid(".item_id", "must be a string that is not empty")
	}
	if it.quantityName == "" {
		it.quantity = 1 // GA4's default
	}
	return it, nil
}

// itemID reads the id of an item: a string, or a whole number, which becomes its digits. It
// skips anything else.
func itemID(s *Scanner) (id string, ok bool) {
	switch s.Kind() {
	case String:
		return strings.TrimSpace(s.Text()), true
	case Number:
		number := s.Raw()
		return number, isWhole(number)
	}
	s.Skip()
	return "", false
}

// itemQuantity reads how many of an item there are: a number, or a string of one. A part,
// such as half a kilogram, counts as the next whole number. written tells that it was written as
// such. An empty text is 0, as if none was sent.
func itemQuantity(s *Scanner) (quantity int64, written, ok bool) {
	kind, text := s.Kind(), ""
	switch kind {
	case Number:
		text = s.Raw()
	case String:
		if text = strings.TrimSpace(s.Text()); text == "" {
			return 0, false, true
		}
	default:
		s.Skip()
		return 0, false, false
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, kind == Number, n >= 1 && n <= maxQuantity
	}
	if strings.Trim(text, "0123456789.eE+-") != "" { // ParseFloat knows more, such as "inf"
		return 0, false, false
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f <= 0 || f > maxQuantity {
		return 0, false, false
	}
	quantity = int64(f)
	if float64(quantity) < f {
		quantity++
	}
	return quantity, false, true
}

// variantID is the id in Shopify's nested variant.
func variantID(variant string) (id string) {
	s := scanKnown(variant, 4)
	s.Enter()
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		if key != "id" {
			s.Skip()
		} else if read, ok := itemID(&s); ok {
			id = read
		}
	}
	return id
}

func (it *item) canonical() bool {
	return it.idName == "item_id" && it.quantityName == "item_quantity" && !it.rewritten
}

// append appends the item with our names, its two members first.
func (it *item) append(dst []byte) []byte {
	if it.canonical() {
		return append(dst, it.raw...)
	}
	dst = append(dst, `{"item_id":`...)
	dst = AppendString(dst, it.id)
	dst = append(dst, `,"item_quantity":`...)
	dst = strconv.AppendInt(dst, it.quantity, 10)
	s := scanKnown(it.raw, 3)
	s.Enter()
	for {
		key, ok := s.Key()
		if !ok {
			return append(dst, '}')
		}
		value := s.Raw()
		if key == it.idName || key == it.quantityName || key == "item_id" || key == "item_quantity" {
			continue
		}
		dst = append(dst, ',')
		dst = AppendString(dst, key)
		dst = append(dst, ':')
		dst = append(dst, value...)
	}
}

// replaceItems puts items first and leaves out the member name, in which they
// came. It keeps checkout, which holds more than items.
func replaceItems(payload, name, items string) string {
	b := append(make([]byte, 0, len(payload)+len(items)), `{"items":`...)
	b = append(b, items...)
	s := scanKnown(payload, 1)
	s.Enter()
	for {
		key, ok := s.Key()
		if !ok {
			return string(append(b, '}'))
		}
		value := s.Raw()
		if key == name && name != "checkout" || key == "items" {
			continue
		}
		b = append(b, ',')
		b = AppendString(b, key)
		b = append(b, ':')
		b = append(b, value...)
	}
}
