package scrub

// Clean tells, by one pass over the bytes, that Text, Cut and Strict
// leave a text as it is. Of a text that is not clean it tells nothing: it may have a
// sign that an address, an escape or a fullwidth letter needs, as many digits as
// a phone number, or what a customer id's name begins with. JSON leaves a JSON
// text that is clean and has no backslash as it is.
func Clean(text string) bool {
	var begun, seen uint64
	for i := range len(text) {
		begun = (begun<<1 | starts) & classes[text[i]]
		seen |= begun
	}
	if seen&checkout != 0 && mentionsID(text) { // most checkouts' addresses have no token
		return false
	}
	return seen&^checkout&ends == 0 && !mayHoldPhone(text) && !mayHoldCNPJ(text)
}

// idBeginnings are what the words begin with that mentionsID looks for, as much
// of each as other words seldom have.
var idBeginnings = []string{"cust", "clie", "cart", "comp", "cpf", "cnp", "user", "buye", "shopp", "ckout", "visit",
	"orderf", "trb_i", "wc_o"}

// classes say which letters of which words a byte is: a word is one of idBeginnings,
// in any case, or what begins an escape, or a sign that only what is scrubbed needs. Of the words' letters
// that have come in a row, Clean keeps a bit each (the shift-and search of Baeza-Yates
// and Gonnet, for all words at once).
var classes, starts, ends, checkout = func() (classes [256]uint64, starts, ends, checkout uint64) {
	bit := 0
	add := func(word string) {
		starts |= 1 << bit
		for _, c := range []byte(word) {
			classes[c] |= 1 << bit
			if isLower(c) {
				classes[c-'a'+'A'] |= 1 << bit
			}
			bit++
		}
		ends |= 1 << (bit - 1)
		if word == "ckout" {
			checkout = 1 << (bit - 1)
		}
	}
	for _, word := range idBeginnings {
		add(word)
	}
	add("&#")
	add("@")
	for _, sign := range []byte("%\\\xEF\xE3") { // fullwidth forms and "。" begin with the last two
		classes[sign] |= classes['@']
	}
	return classes, starts, ends, checkout
}()
