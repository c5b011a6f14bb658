package scrub

import (
	"slices"
	"strings"
)

// NamesPhone tells whether the name of a member or parameter says that its
// value is a phone number: "phone", "phones", "phoneNumber1", "contactNumber",
// "customer[phone]", "celular". "iphone" and "phoneId" do not say so.
func NamesPhone(name string) bool {
	words := nameWords(name)
	last := len(words) - 1
	if last < 0 || slices.Contains(notNumbers, words[last]) {
		return false
	}
	for i, word := range words {
		if slices.Contains(notPhones, strings.TrimSuffix(word, "s")) {
			continue
		}
		for _, part := range phoneParts {
			if strings.Contains(word, part) {
				return true
			}
		}
		ends := i == last || slices.Contains(numberWords, words[i+1])
		if word == "whats" && !ends && words[i+1] == "app" {
			return true
		}
		if ends && (slices.Contains(phoneWords, word) || strings.HasSuffix(word, "mobile")) {
			return true
		}
	}
	return false
}

var (
	// phoneParts say phone anywhere in a word.
	phoneParts = []string{"phone", "fone", "telefon", "celular", "whatsapp", "msisdn", "contactn", "numerocontato", "contaton"}
	// phoneWords say phone as a name's last word, or before a word for number.
	phoneWords  = []string{"tel", "tels", "cel", "cell", "wpp", "whats", "zap", "fax", "mobiles", "contact", "contacts", "contato", "contatos"}
	numberWords = []string{"number", "numbers", "numero", "numeros", "num", "no", "nr"}
	// notPhones hold a part of phoneParts and are none; singular.
	notPhones = []string{"iphone", "smartphone", "headphone", "earphone", "microphone", "megaphone", "saxophone", "microfone", "headfone",
		"megafone", "saxofone", "xilofone", "interfone", "automobile"}
	// notNumbers end the name of something about a phone.
	notNumbers = []string{"id", "ids", "at", "date", "time", "model", "sku", "ean", "gtin"}
)

// endsNoNumber tells whether a name is of something about a phone, not of its number.
func endsNoNumber(name string) bool {
	words := nameWords(name)
	return len(words) > 0 && slices.Contains(notNumbers, words[len(words)-1])
}

// maxName is how much of a name is looked at, in bytes.
const maxName = 64

// nameWords are a name's words in lower case: a new word begins at a capital
// after a small letter, unless that is the word's first ("iPhone"), and after
// anything that is no letter.
func nameWords(name string) []string {
	spaced := make([]byte, 0, 128)
	length, small := 0, false // of the word so far; whether its last letter is small
	for i := range min(len(name), maxName) {
		c := name[i]
		upper := isUpper(c)
		if upper {
			c += 'a' - 'A'
		}
		if !isLower(c) {
			c, length = ' ', 0
		} else if upper && small && length > 1 {
			spaced, length = append(spaced, ' '), 1
		} else {
			length++
		}
		spaced = append(spaced, c)
		small = c != ' ' && !upper
	}
	return strings.Fields(string(spaced))
}

// mentionsPhone tells whether a text may hold a name that NamesPhone knows, or
// such a word in prose. It is a fast check before the slow patterns.
func mentionsPhone(text string) bool {
	lower := strings.ToLower(text)
	for _, part := range []string{"fone", "phone", "tel", "cel", "whats", "mobile", "msisdn", "cont", "wpp", "zap", "fax"} {
		if strings.Contains(lower, part) {
			return true
		}
	}
	return false
}

// looksLikePhone tells whether a value under a phone's name holds a number: at
// least minDigits digits and no date.
func looksLikePhone(value string) bool {
	digits := 0
	for i := range len(value) {
		if isDigit(value[i]) {
			digits++
		}
	}
	return digits >= minDigits && !isDate(value)
}
