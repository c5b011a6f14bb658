package site

import (
	"strings"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/lang"
)

// TextOf returns the text of a key, or fallback where there is none: for words
// that the explanation of a newer version may have.
func TextOf(l *lang.Printer, key, fallback string) string {
	if !l.Has(key) {
		return fallback
	}
	return l.T(key)
}

// KeyWords returns words for what joins an order to a touch: a kind of key, or
// the order's own UTM values.
func KeyWords(l *lang.Printer, matchedBy string) (name, about string) {
	return TextOf(l, "key."+matchedBy, matchedBy), TextOf(l, "key.about."+matchedBy, "")
}

// EventWords returns the words for an event's name: of one that is the shop's own, the name.
func EventWords(l *lang.Printer, name string) string {
	return TextOf(l, "event_name."+strings.ToLower(name), name)
}

// ZoneWords says whose time a time zone's is: Brasília's, or the zone's own name.
func ZoneWords(l *lang.Printer, zone string) string {
	if zone == "America/Sao_Paulo" {
		return l.T("sales.zone_brasilia")
	}
	return l.T("sales.zone", zone)
}

// ChannelWords returns the words for a channel of internal/attribution.
func ChannelWords(l *lang.Printer, channel string) string {
	if name, is := strings.CutPrefix(channel, attribution.CouponChannel); is {
		return l.T("channel.coupon", name)
	}
	return TextOf(l, "channel."+strings.ReplaceAll(strings.ToLower(channel), " ", "_"), channel)
}

// StateWords says what a commission is, and by which class it is shown.
func StateWords(l *lang.Printer, state facts.PayoutState, posted bool) (text, class string) {
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

// Present returns the words that are not empty and not "(none)".
func Present(words ...string) (list []string) {
	for _, word := range words {
		if word != "" && word != "(none)" {
			list = append(list, word)
		}
	}
	return list
}
