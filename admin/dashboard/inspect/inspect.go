// Package inspect says what one record of events.v1 is and does, for people who look at
// events: what the edge added, by what it can join an order, and whose touch it is.
//
// It shows no id and no key of a shopper, and no value of a payload. It decides nothing:
// facts are parsed by internal/facts, touches are internal/attribution's.
package inspect

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/scrub"
	"github.com/tributary-io/tributary/internal/wire"
)

// Effect says what an event is counted for.
type Effect string

// Effects. Of several the first of this list counts.
const (
	Refused Effect = "refused" // it cannot be applied: Event.Fault
	Program Effect = "program" // a bot, a prefetch or a link preview made it
	Late    Effect = "late"    // it came more than 7 days after its time
	Nobody  Effect = "nobody"  // it names no visitor
	Framed  Effect = "framed"  // it was sent from a frame in another site's page
	Ours    Effect = "ours"    // an influencer's touch
	Came    Effect = "came"    // a touch that is no influencer's
	Counts  Effect = "counts"  // nothing new about how its visitor came
)

// Event is what a record is and does.
type Event struct {
	ID, Name       string
	At, ReceivedAt time.Time // corrected time, and the edge's clock
	Skew           time.Duration
	Fault          string // a code of rejected.v1; empty: it can be applied

	Via     wire.Via
	Trust   wire.Trust
	Bot     wire.Bot
	Consent wire.Consent
	Library string   // "tributary.js 1.2.0"
	Page    string   // host and path: no query
	Members []string // of the payload, without their values
	Visitor string   // a short mark: one visitor's events have the same; empty: none
	Keys    []facts.KeyKind

	Touch  Touch
	Effect Effect

	// Erasure has a digest for each key by which the event may be an erased person's
	// (facts.ErasedDigest). It is not shown.
	Erasure [][]byte `json:"-"`
}

// Touch says how an event's visitor came, and whose touch that is.
type Touch struct {
	Kind                     facts.Arrival // facts.Direct: the event says nothing of it
	Source, Medium, Campaign string
	Channel                  string
	InfluencerID, Influencer string // empty: nobody's
}

// mostMembers bounds the names of a payload's members that are shown, longestMember each.
const (
	mostMembers   = 20
	longestMember = 40
)

// Record looks at the value of one record of events.v1, by the rules as they are now.
func Record(value []byte, x *attribution.Index) Event {
	e, err := facts.ParseEvent(value)
	out := Event{
		ID: e.EventID, Name: e.Event.Event, At: e.At, ReceivedAt: e.ReceivedAt, Skew: time.Duration(e.ClockSkewMs) * time.Millisecond,
		Via: e.Via, Trust: e.Trust, Bot: e.Bot, Consent: e.Consent, Page: pageOf(e.Context.Page), Members: membersOf(e.Payload),
		Visitor: Mark(e.Visitor),
		Touch:   Touch{Kind: facts.Direct},
	}
	if e.Context.Library.Name != "" {
		out.Library = e.Context.Library.Name + " " + e.Context.Library.Version
	}
	if err != nil {
		out.Fault, out.Effect = faultOf(err), Refused
		return out
	}
	for _, k := range e.Keys() {
		if !slices.Contains(out.Keys, k.Kind) {
			out.Keys = append(out.Keys, k.Kind)
		}
	}
	for _, k := range e.ErasureKeys() {
		out.Erasure = append(out.Erasure, facts.ErasedDigest(e.CompanyID, k))
	}
	t := x.Arrival(&e)
	out.Touch = Touch{Kind: t.Kind, Source: t.Source, Medium: t.Medium, Campaign: t.Campaign, Channel: t.Channel, InfluencerID: t.InfluencerID,
		Influencer: t.InfluencerName}
	out.Effect = effectOf(&e, &out.Touch)
	return out
}

// faultOf is the code under which the processor rejects a record with an error.
func faultOf(err error) string {
	for _, known := range []error{facts.ErrEventID, facts.ErrNoCompany, facts.ErrTime} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return facts.ErrNotJSON.Error()
}

func effectOf(e *facts.Event, t *Touch) Effect {
	switch {
	case !e.Human():
		return Program
	case e.Late():
		return Late
	case e.Visitor == "":
		return Nobody
	case e.Frame:
		return Framed
	case t.InfluencerID != "":
		return Ours
	case t.Kind != facts.Direct:
		return Came
	}
	return Counts
}

// Mark is a short mark of an id that does not tell the id.
func Mark(id string) string {
	if id == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:3])
}

// pageOf is the host and the path of a page. A query may name people.
func pageOf(p wire.Page) string {
	if place := Place(p.URL); place != "" {
		return place
	}
	return withMarks(p.Path)
}

// minSecret is how long a text is at least that may open a cart or an order: as long as a
// cart token that cannot be guessed.
const minSecret = 16

// withMarks is a path with a mark in the place of each part that may be a secret: a
// checkout's token claims the sale that is being made.
func withMarks(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if utf8.RuneCountInString(part) >= minSecret {
			parts[i] = shortMark(part)
		}
	}
	return strings.Join(parts, "/")
}

// shortMark is a mark that hardly helps to guess a text of few random bits: of 40 it tells 8.
func shortMark(text string) string { return "~" + Mark(text)[:2] }

// paths are parts of paths in a text that may be secrets, with what stands before: no host.
// words are what may be one in any place.
var (
	words = regexp.MustCompile(`[0-9A-Za-z_+%~.-]{16,}`)
	paths = regexp.MustCompile(`([^/:]/)([^/\s"'\\?#&<>(){}]{16,})`)
)

// Marked is the text of a rejected event with marks in the place of long parts of paths, and
// of whatever else looks like a cart's token that cannot be guessed.
func Marked(text string) string {
	text = paths.ReplaceAllStringFunc(text, func(found string) string {
		before, part, _ := strings.Cut(found, "/")
		return before + "/" + shortMark(part)
	})
	return words.ReplaceAllStringFunc(text, func(word string) string {
		if scrub.SecretToken(word) {
			return shortMark(word)
		}
		return word
	})
}

// Place is the host and the path of an address, in ASCII: a letter that looks like another
// one makes another name. A part of the path that may be a secret is a mark. Empty: it has no host.
func Place(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	host, err := idna.ToASCII(u.Host)
	if err != nil {
		host = url.PathEscape(u.Host)
	}
	return host + withMarks(u.EscapedPath())
}

// Visible is a text of somebody else's with its invisible characters written out, "\u202e":
// those that change the direction of what is behind them, and those that make two texts
// look like one.
func Visible(text string) string {
	hidden := func(r rune) bool {
		return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp))
	}
	if !strings.ContainsFunc(text, hidden) {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if hidden(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// membersOf are the names of the members of a payload; of one that may be a secret, a mark.
func membersOf(payload json.RawMessage) (names []string) {
	var members map[string]json.RawMessage
	if json.Unmarshal(payload, &members) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if len(names) == mostMembers {
			return append(names, "…")
		}
		switch {
		case len(name) >= minSecret && strings.ContainsAny(name, "0123456789"):
			names = append(names, shortMark(name))
		case len(name) <= longestMember:
			names = append(names, name)
		}
	}
	return names
}
