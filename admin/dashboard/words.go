package dashboard

import (
	"strings"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/lang"
)

// textOf returns the text of a key, or fallback where there is none: for words
// that the explanation of a newer version may have.
func textOf(l *lang.Printer, key, fallback string) string {
	if !l.Has(key) {
		return fallback
	}
	return l.T(key)
}

// keyWords returns words for what joins an order to a touch: a kind of key, or
// the order's own UTM values.
func keyWords(l *lang.Printer, matchedBy string) (name, about string) {
	return textOf(l, "key."+matchedBy, matchedBy), textOf(l, "key.about."+matchedBy, "")
}

// channelWords returns the words for a channel of internal/attribution.
func channelWords(l *lang.Printer, channel string) string {
	return textOf(l, "channel."+strings.ReplaceAll(strings.ToLower(channel), " ", "_"), channel)
}

// stateWords says what a commission is, and by which class it is shown.
func stateWords(l *lang.Printer, state facts.PayoutState, posted bool) (text, class string) {
	switch state {
	case facts.PayoutEarned:
		return l.T("state.earned"), "approved"
	case facts.PayoutExpected:
		return l.T("state.expected"), "pending"
	case facts.PayoutReview:
		return l.T("state.review"), "pending"
	case facts.PayoutReversed:
		if posted {
			return l.T("state.taken_back"), "cancelled"
		}
		return l.T("state.not_owed"), "cancelled"
	}
	return "", ""
}

// present returns the words that are not empty and not "(none)".
func present(words ...string) (list []string) {
	for _, word := range words {
		if word != "" && word != "(none)" {
			list = append(list, word)
		}
	}
	return list
}
