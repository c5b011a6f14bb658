package scrub

import "strings"

// wooKey begins the key of an order of WooCommerce, which opens the order's pages:
// "/order-received/42/?key=wc_order_…".
const wooKey = "wc_order_"

// minSegment is how many characters a part of a checkout's path has at least that may be
// its token (minToken).
const minSegment = minToken

// scrubCheckout removes what opens a cart or a checkout from the addresses in a text: parts
// of a path behind "cart" or "checkout" that may be its token ("/checkouts/cn/Z2NwLXVz…"),
// and orders' keys of WooCommerce.
func scrubCheckout(text string) string {
	if strings.Contains(text, wooKey) {
		text = replaceFound(text, findWooKey, func(string, span) string { return scrubbedID })
	}
	var out strings.Builder
	copied, begin, inside := 0, 0, false
	for i := 0; i <= len(text); {
		end, next, same := partEnds(text, i)
		if !end {
			i = next
			continue
		}
		part := text[begin:i]
		if inside && isCheckoutToken(part) {
			out.WriteString(text[copied:begin])
			out.WriteString(scrubbedID)
			copied = i
		}
		inside = same && (inside || len(part) >= len("cart") && (strings.EqualFold(part, "cart") || begins(part, "checkout")))
		i, begin = next, next
	}
	if copied == 0 {
		return text
	}
	out.WriteString(text[copied:])
	return out.String()
}

// partEnds tells whether a part of a path ends at i, what the index behind its end is, and
// whether the same path goes on there.
func partEnds(text string, i int) (end bool, next int, same bool) {
	if i == len(text) {
		return true, i + 1, false
	}
	sign := text[i]
	next = i + 1
	if sign == '%' {
		value, _, behind := escapedByte(text, i)
		if behind == 0 {
			return false, next, false
		}
		sign, next = value, behind
	}
	switch sign {
	case '/':
		return true, next, true
	case '?', '#', '&', '=', ';', ' ', '"', '<', '>', '\n':
		return true, next, false
	}
	return false, next, false
}

// isCheckoutToken tells whether a part of a checkout's path may be its token, and not a
// word of the shop's.
func isCheckoutToken(part string) bool {
	return len(part) >= minSegment && strings.ContainsAny(part, "0123456789")
}

// findWooKey finds the first key of an order of WooCommerce at i or behind it.
func findWooKey(text string, i int) span {
	for {
		begin := strings.Index(text[i:], wooKey)
		if begin < 0 {
			return span{}
		}
		begin += i
		end := begin + len(wooKey)
		for end < len(text) && isWord(text[end]) {
			end++
		}
		if end > begin+len(wooKey) {
			return span{begin, begin, end}
		}
		i = end
	}
}

// checkoutAt tells whether a text begins with "checkout" and may be the name of an id
// ("checkoutToken", "checkout_id"), or a path with a part that is as long as a token.
func checkoutAt(text string) bool {
	if !begins(text, "checkout") {
		return false
	}
	rest, run := text[len("checkout"):], 0
	if rest != "" && strings.IndexByte("_-.[%tTiI", rest[0]) >= 0 {
		return true
	}
	for i := range len(rest) {
		switch rest[i] {
		case '/':
			run = 0
		case '?', '#', '&', '=', ';', ' ', '"', '<', '>', '\n':
			return false
		default:
			if run++; run == minSegment {
				return true
			}
		}
	}
	return false
}
