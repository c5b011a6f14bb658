package core

import (
	"slices"
	"strings"
)

// NetworkIDNames are the names of how networks know a browser, in the order of the canonical event.
func NetworkIDNames() []string { return []string{"ga", "ga_session", "fbp", "ttp"} }

// Of returns those of the networks that a consent names (Event.ConsentFor): no other network's cookies are kept.
func (n NetworkIDs) Of(destinations string) NetworkIDs {
	if n == (NetworkIDs{}) {
		return n
	}
	agreed := strings.Split(destinations, ",")
	keep := func(network, id string) string {
		if slices.Contains(agreed, network) {
			return id
		}
		return ""
	}
	return NetworkIDs{GA: keep("ga4", n.GA), GASession: keep("ga4", n.GASession), FBP: keep("meta", n.FBP), TTP: keep("tiktok", n.TTP)}
}

// networkIDs reads an object of names and values. What no cookie of the network holds is left out: no sale may be lost for it.
func (p *parser) networkIDs() {
	var n NetworkIDs
	p.in.Enter()
	for key, ok := p.in.Key(); ok; key, ok = p.in.Key() {
		var into *string
		switch key {
		case "ga":
			into = &n.GA
		case "ga_session":
			into = &n.GASession
		case "fbp":
			into = &n.FBP
		case "ttp":
			into = &n.TTP
		default:
			p.unknown()
			continue
		}
		if *into = ""; p.in.IsNull() {
			continue
		}
		if p.in.Kind() != String {
			p.unknown()
			continue
		}
		if id := p.in.Text(); IsNetworkID(key, id) {
			*into = id
		} else {
			p.unread = p.unread || id != ""
		}
	}
	p.event.Context.Networks = n
}

// IsNetworkID reports whether a text is what a network's cookie holds, by the name that an event has for it. The forms are those of the
// cookies that the networks' scripts set. They have no room for an e-mail address. Of a number only the length is looked at.
func IsNetworkID(name, id string) bool {
	first, rest, _ := strings.Cut(id, ".")
	switch name {
	case "ga": // a random number of 31 bits, and seconds
		return isDigits(first, 1, 10) && isDigits(rest, 1, 10)
	case "ga_session": // up to four streams, each with the seconds of Unix at which its session began
		words := strings.SplitN(id, " ", 5)
		for _, word := range words {
			stream, began, _ := strings.Cut(word, ".")
			if !isWord(stream, "", 4, 11) || stream != strings.ToUpper(stream) || isDigits(stream, 4, 11) ||
				!isDigits(began, 10, 10) || began[0] != '1' {
				return false
			}
		}
		return len(words) <= 4
	case "fbp": // fb, a digit, milliseconds, a random number, and of Meta's own libraries their sign
		digit, rest, _ := strings.Cut(rest, ".")
		millis, rest, _ := strings.Cut(rest, ".")
		random, sign, signed := strings.Cut(rest, ".")
		return first == "fb" && isDigits(digit, 1, 1) && isDigits(millis, 10, 16) && isDigits(random, 1, 25) &&
			(!signed || isWord(sign, "-_", 2, 8))
	case "ttp":
		return isWord(id, "-_.", 20, 64)
	}
	return false
}

func isDigits(text string, least, most int) bool {
	for i := 0; i < len(text); i++ {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return len(text) >= least && len(text) <= most
}

// isWord reports whether a text has letters, digits and a few signs alone.
func isWord(text, signs string, least, most int) bool {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if letter := c | 0x20; (letter < 'a' || letter > 'z') && (c < '0' || c > '9') && strings.IndexByte(signs, c) < 0 {
			return false
		}
	}
	return len(text) >= least && len(text) <= most
}
