package packed

import (
	"fmt"
)

// plainOrder is the form of a packed order: its first byte. Tokens follow, as those of a
// record, but the phrases are orderPhrases. It never changes.
const plainOrder = 3

// orderPhrases are texts that orders have often: the names of their members as
// encoding/json writes wire.Order. They are kept as phrases are.
var orderPhrases = newBook([]string{
	`{"orderId":"`, `","orderStatus":0,"createdAt":"`, `","orderStatus":1,"createdAt":"`, `","orderStatus":2,"createdAt":"`,
	`","orderStatus":`, `,"createdAt":"`,
	`","currency":"BRL","totalMinor":`, `","currency":"`, `","totalMinor":`, `,"updatedAt":"`, `","number":`, `,"number":`,
	`,"name":"`, `","name":"`,
	`,"discountsMinor":0`, `,"discountsMinor":`, `","discountsMinor":`, `,"shippingMinor":0`, `,"shippingMinor":`, `","shippingMinor":`,
	`,"paymentMethod":`, `","paymentMethod":`, `,"installments":1`, `,"installments":`, `","installments":`,
	`,"discountCode":"`, `","discountCode":"`,
	`,"provinceCode":"`, `","provinceCode":"`, `","countryCode":"BR"`, `","countryCode":"`, `,"countryCode":"`,
	`,"utmSource":"`, `","utmSource":"`, `","utmMedium":"`, `","utmCampaign":"`, `","utmContent":"`, `","utmTerm":"`, `,"utmMedium":"`,
	`,"utmCampaign":"`, `,"utmContent":"`,
	`,"userId":"`, `","userId":"`, `","userIdMac":"valid"`, `","userIdMac":"`, `,"source":0`, `","source":0`, `,"source":`, `","source":`,
	`,"isFirstOrder":true`, `,"isFirstOrder":false`, `,"isRecurring":true`, `,"isRecurring":false`,
	`,"emailKey":"`, `","emailKey":"`, `,"phoneKey":"`, `","phoneKey":"`, `,"customerKey":"`, `","customerKey":"`, `,"cartKey":"`,
	`","cartKey":"`, `,"cartNoKey":"`, `","cartNoKey":"`, `,"netKey":"`, `","netKey":"`,
	`,"deliveredAt":"`, `","deliveredAt":"`, `,"items":[{"itemId":"`, `","items":[{"itemId":"`, `"},{"itemId":"`, `},{"itemId":"`,
	`","productId":"`, `","variantId":"`,
	`","quantity":1`, `","quantity":`, `,"price":"`, `","discount":"`, `","total":"`, `0.00"`, `9.90"`, `":null`, `"}]}`, `,"items":[]`,
	`influencer`, `instagram`, `facebook`, `newsletter`, `whatsapp`, `google`, `organic`, `email`, `social`,
})

// AppendOrder appends an order's JSON, packed.
func AppendOrder(dst, order []byte) []byte {
	p := packer{out: append(dst, plainOrder), text: order, book: orderPhrases}
	p.pack()
	return p.out
}

// Order returns the JSON that AppendOrder packed. Other bytes are ErrPacked.
func Order(packed []byte) ([]byte, error) {
	if len(packed) == 0 || packed[0] != plainOrder {
		return nil, fmt.Errorf("%w: an order of an unknown form", ErrPacked)
	}
	u := unpacker{rest: packed[1:], out: make([]byte, 0, 4*len(packed)+64), book: orderPhrases}
	if err := u.unpack(); err != nil {
		return nil, err
	}
	return u.out, nil
}
