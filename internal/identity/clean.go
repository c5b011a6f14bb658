package identity

// Clean tells, by one pass over the bytes, that Scrub, ScrubCut and ScrubStrict
// leave a text as it is. Of a text that is not clean it tells nothing: it may have a
// sign that an address, an escape or a fullwidth letter needs, as many digits as
// a phone number, or what a customer id's name begins with. ScrubJSON leaves a JSON
// text that is clean and has no backslash as it is.
func Clean(text string) bool {
	var names, named, seen uint64
	for i := range len(text) {
		class := classes[text[i]]
		names = (names<<1 | nameStarts) & class
		named |= names
		seen |= class
	}
	return named&nameEnds == 0 && seen&sign == 0 && !mayHoldPhone(text)
}

// idBeginnings are what the words begin with that mentionsID looks for, as much
// of each as other words seldom have.
var idBeginnings = []string{"cust", "clie", "cart", "comp", "cpf", "user", "buye", "shopp"}

// A class has a bit for each letter of idBeginnings that a byte is, 32 in all, and
// this one for signs that only what is scrubbed needs.
const sign = 1 << 32

// classes are the classes of all bytes. Of names, which has the letters' bits, a bit
// is set when the bytes so far end with the word up to that letter (the shift-and
// search of Baeza-Yates and Gonnet, for all words at once).
var classes, nameStarts, nameEnds = func() (classes [256]uint64, starts, ends uint64) {
	bit := 0
	for _, word := range idBeginnings {
		starts |= 1 << bit
		for i := range len(word) {
			classes[word[i]] |= 1 << bit
			classes[word[i]-'a'+'A'] |= 1 << bit
			bit++
		}
		ends |= 1 << (bit - 1)
	}
	for _, c := range []byte("@%\xEF\xE3") { // fullwidth forms and "。" begin with the last two
		classes[c] |= sign
	}
	return classes, starts, ends
}()
