package delivery

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// RefusedOrigin are events that edges refused, since the company does not list the origin of
// the page that sent them. Anybody can send any.
type RefusedOrigin struct {
	Origin string // as browsers send it, or facts.OtherOrigin
	Own    bool   // it has the registrable domain of one of the company's
	Events int64  // to add
	At     time.Time
}

// Bounds of what is kept of refused origins. Those of the company's own domain stay before
// those of others.
const (
	MaxRefusedOrigins = wire.MaxRefused // of a company, beside facts.OtherOrigin
	KeepRefused       = 30              // days after the last event
)

// AddRefused adds what an edge tells of refused origins. own tells whether an origin has the
// registrable domain of one of the company's.
func (l *Ledger) AddRefused(n *facts.Notice, own func(origin string) bool) {
	for _, r := range n.Refused {
		origin := cmp.Or(r.Origin, facts.OtherOrigin)
		if l.refused == nil {
			l.refused = map[string]*RefusedOrigin{}
		}
		if l.refused[origin] == nil {
			l.refused[origin] = &RefusedOrigin{Origin: origin, Own: own(r.Origin), At: n.ReceivedAt}
		}
		sum := l.refused[origin]
		sum.Events += r.Events
		if n.ReceivedAt.After(sum.At) {
			sum.At = n.ReceivedAt
		}
	}
}

// refusedOrigins are those of the transaction, by origin, so that transactions cannot deadlock.
func (l *Ledger) refusedOrigins() (list []RefusedOrigin) {
	for _, origin := range slices.Sorted(maps.Keys(l.refused)) {
		list = append(list, *l.refused[origin])
	}
	return list
}
