package network

import (
	"slices"
	"strings"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// agreed reports whether an order's buyer agreed to a network: the newest of the events that are proven to be the buyer's, and that say
// anything of consent, says so. What else came of the same browsers, also later, can only take that back: who says it need not be the
// buyer. Where no such event says anything, asked is false.
func agreed(network commerce.DestinationKind, b attribution.Buyer, later []facts.Event) (yes, asked bool) {
	i := slices.IndexFunc(b.Proven, says)
	if i < 0 || !grants(&b.Proven[i], network) {
		return false, i >= 0
	}
	newest := b.Proven[i].At
	return !slices.ContainsFunc(slices.Concat(b.Others, later), func(e facts.Event) bool {
		return says(e) && !e.At.Before(newest) && !grants(&e, network)
	}), true
}

// says reports whether an event says anything of consent.
func says(e facts.Event) bool {
	return e.Consent == wire.ConsentGranted || e.Consent == wire.ConsentDenied
}

// grants reports whether an event says that a network may be told.
func grants(e *facts.Event, network commerce.DestinationKind) bool {
	return e.Consent == wire.ConsentGranted && slices.Contains(strings.Split(e.ConsentFor, ","), string(network))
}
