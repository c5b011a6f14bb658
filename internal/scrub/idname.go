package scrub

import (
	"slices"
	"strings"

	"github.com/tributary-io/tributary/internal/identity"
)

// namesID tells whether the name of a member or parameter says that its value is
// a shop's id of a person or the token of a cart or checkout, which identity.customer_id
// and identity.cart_token are for: "customerId", "user_id", "cart_token", "orderFormId", "cpf", "cnpj".
// "itemId" and "userType" do not say so.
func namesID(name string) bool {
	words := nameWords(name)
	last := len(words) - 1
	if last < 0 {
		return false
	}
	if words[last] == "cpf" || words[last] == "cnpj" || slices.Contains(joinedIDs, words[last]) {
		return true
	}
	return last > 0 && (isOwner(words[last-1]) || last > 1 && words[last-2] == "order" && words[last-1] == "form") &&
		slices.Contains(idWords, words[last])
}

// namesOwner tells whether the name of an object says that it is of a shopper or
// a cart, so that its "id" is one of namesID: "customer", "billing_customer", "cart".
func namesOwner(name string) bool {
	words := nameWords(name)
	return len(words) > 0 && isOwner(words[len(words)-1])
}

// isOwnID tells whether a member of such an object is its id.
func isOwnID(name string) bool {
	words := nameWords(name)
	return len(words) == 1 && slices.Contains(idWords, words[0])
}

func isOwner(word string) bool {
	switch word {
	case "cart", "checkout", "customer", "user", "client", "cliente", "shopper", "buyer", "comprador", "visitor", "trb":
		return true
	}
	return false
}

var (
	// idWords say id behind a person's word or "cart".
	idWords = []string{"id", "ids", "token", "tokens", "number", "uid", "uuid", "guid", "gid"}
	// joinedIDs are such names written as one word.
	joinedIDs = []string{"customerid", "userid", "clientid", "clienteid", "buyerid", "cartid", "carttoken", "checkoutid", "checkouttoken",
		"orderformid", "visitorid"}
)

// mentionsID tells whether a text may hold a name that namesID knows. It is a
// fast check before the slow patterns.
func mentionsID(text string) bool {
	for i := range len(text) {
		switch text[i] | 0x20 { // a letter in lower case
		case 'c':
			if begins(text[i:], "customer") || begins(text[i:], "client") || begins(text[i:], "cart") || checkoutAt(text[i:]) ||
				begins(text[i:], "comprador") || begins(text[i:], "cpf") || begins(text[i:], "cnpj") {
				return true
			}
		case 'u':
			if begins(text[i:], "user") {
				return true
			}
		case 'b':
			if begins(text[i:], "buyer") {
				return true
			}
		case 's':
			if begins(text[i:], "shopper") {
				return true
			}
		case 'v':
			if begins(text[i:], "visitor") {
				return true
			}
		case 'o':
			if begins(text[i:], "orderform") {
				return true
			}
		case 't':
			if begins(text[i:], "trb_id") {
				return true
			}
		case 'w':
			if begins(text[i:], wooKey) {
				return true
			}
		}
	}
	return false
}

// begins tells whether a text begins with a word, in any case. word is in lower
// case, at least two letters.
func begins(text, word string) bool {
	return len(text) >= len(word) && text[1]|0x20 == word[1] && strings.EqualFold(text[:len(word)], word)
}

// isIDValue tells whether a value under an id's name is one: no junk, and not
// what stands where a value was removed already.
func isIDValue(value string) bool {
	removed := strings.HasPrefix(value, "(") && strings.HasSuffix(value, ")")
	return !removed && (identity.NormalID(value) != "" || len(value) > identity.MaxID)
}

// MaxShownName is the length in bytes up to which ShownName shows a name.
const MaxShownName = 64

// ShownName is the name of a member that somebody sent, as an answer may show it: as it is where it
// is plain, else "?", for it may name a person, or be a secret.
func ShownName(name string) string {
	if len(name) > MaxShownName || strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	}) || SecretToken(name) || Strict(name) != name {
		return "?"
	}
	return name
}
