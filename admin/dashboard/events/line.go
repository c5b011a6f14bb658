package events

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/inspect"
	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/lang"
	"github.com/tributary-io/tributary/internal/wire"
)

func timesOf(v site.Request, at time.Time, zone *time.Location) eventLine {
	local := at.In(zone)
	return eventLine{at: at, Time: local.Format("15:04:05"), Stamp: local.Format(time.RFC3339)}
}

func viewEvent(v site.Request, e *inspect.Event, zone *time.Location) eventLine {
	l, line := v.Lang, timesOf(v, e.ReceivedAt, zone)
	line.Kind, line.ID, line.Name, line.About, line.happened, line.erasure = "event", e.ID, site.EventWords(l, e.Name), e.Page, e.At, e.Erasure
	line.StateText, line.State = l.T("events.effect_"+string(e.Effect)), effectClasses[e.Effect]
	if e.Effect == inspect.Ours {
		line.StateText = l.T("events.effect_ours", e.Touch.Influencer)
	}
	fact := func(name, text string) {
		if text != "" {
			line.Facts = append(line.Facts, eventFact{l.T("events." + name), text})
		}
	}
	fact("effect", l.T("events.about_"+string(e.Effect)))
	if line.Name != e.Name {
		fact("name", e.Name)
	}
	line.Kept = e.Fault == ""
	if !line.Kept {
		line.ID = ""
		fact("code", e.Fault)
		line.About, line.Mend = site.TextOf(l, "rejected_for."+e.Fault, e.Fault), site.TextOf(l, "mend."+e.Fault, l.T("mend.other"))
		return line
	}
	if t := e.Touch; t.Kind != facts.Direct {
		how := strings.Join(site.Present(t.Source, t.Medium, t.Campaign), " / ")
		fact("touch", l.T("events.touch_"+string(t.Kind), cmp.Or(how, site.ChannelWords(l, t.Channel))))
	}
	var keys []string
	for _, kind := range e.Keys {
		name, _ := site.KeyWords(l, string(kind))
		keys = append(keys, name)
	}
	fact("keys", cmp.Or(strings.Join(keys, " · "), l.T("events.no_keys")))
	fact("visitor", e.Visitor)
	fact("happened", l.Instant(e.At.In(zone)))
	if e.Skew.Abs() >= time.Minute {
		fact("skew", e.Skew.Round(time.Second).String())
	}
	fact("via", site.TextOf(l, "events.via_"+strings.ReplaceAll(string(e.Via), "-", "_"), string(e.Via))+" · "+site.TextOf(l,
		"events.trust_"+string(cmp.Or(e.Trust, wire.TrustOpen)), string(e.Trust)))
	fact("library", e.Library)
	fact("consent", site.TextOf(l, "events.consent_"+string(e.Consent), string(e.Consent)))
	if e.Bot != "" && e.Bot != wire.BotNone {
		fact("bot", site.TextOf(l, "events.bot_"+string(e.Bot), string(e.Bot)))
	}
	fact("payload", strings.Join(e.Members, ", "))
	return line
}

// viewNotice tells of events that came again, of those that the sender gave up, and of those of
// pages that may send none. What
// was rejected has lines of its own. told is false where there is nothing to tell.
func viewNotice(v site.Request, value []byte, zone *time.Location) (line eventLine, told bool) {
	n, err := facts.ParseNotice(value)
	if err != nil {
		return line, false // the processor rejects it, which has a line
	}
	line = timesOf(v, n.ReceivedAt, zone)
	line.Kind, line.About, line.State = "event", inspect.Place(n.Origin), "over"
	var dropped int64
	if n.Dropped != nil {
		for _, reason := range slices.Sorted(maps.Keys(n.Dropped.Counts)) {
			dropped += n.Dropped.Counts[reason]
			text := v.Lang.Count(n.Dropped.Counts[reason])
			if means := site.TextOf(v.Lang, "drop."+reason, ""); means != "" {
				text += " · " + means
			}
			line.Facts = append(line.Facts, eventFact{reason, text})
		}
	}
	switch {
	case len(n.Refused) > 0:
		viewRefused(v, &line, n.Refused)
	case dropped > 0:
		line.Name, line.StateText = v.Lang.N("events.n_dropped", dropped), v.Lang.T("delivery.dropped")
		line.Facts = append([]eventFact{{v.Lang.T("events.effect"), v.Lang.T("delivery.dropped_text")}}, line.Facts...)
	case n.Duplicate > 0:
		line.Name, line.StateText = v.Lang.N("events.n_again", n.Duplicate), v.Lang.T("delivery.duplicate")
		line.Facts = []eventFact{{v.Lang.T("events.effect"), v.Lang.T("delivery.duplicate_text")}}
	}
	return line, line.Name != ""
}

// viewRefused tells of pages whose origins are not listed. Anybody can send any.
func viewRefused(v site.Request, line *eventLine, refused []wire.NoticeRefused) {
	var events int64
	for _, r := range refused {
		events += r.Events
		line.Facts = append(line.Facts, eventFact{cmp.Or(r.Origin, v.Lang.T("install.others")), v.Lang.N("install.n_tried", r.Events)})
	}
	line.Kind, line.State, line.StateText = "rejected", "cancelled", v.Lang.T("events.rejected")
	line.Name, line.About = v.Lang.N("events.n_refused", events), v.Lang.T("install.others")
	if len(refused) == 1 && refused[0].Origin != "" {
		line.About = refused[0].Origin
	}
	line.Mend = v.Lang.T("events.refused_mend")
}

func viewRejected(v site.Request, letter *wire.Rejected, zone *time.Location) eventLine {
	l, line := v.Lang, timesOf(v, letter.At, zone)
	line.Kind, line.Name, line.State, line.StateText = "rejected", site.TextOf(l, "rejected_for."+letter.Code, letter.Code), "cancelled",
		l.T("events.rejected")
	if letter.Count > 1 {
		line.StateText = l.N("events.n_rejected", int64(letter.Count))
	}
	if line.About = letter.Reason; l.Tag != lang.Tags[0] { // the services' reasons are in one language
		line.About = site.TextOf(l, "mend."+letter.Code, l.T("mend.other"))
	}
	fact := func(name, text string) {
		if text != "" {
			line.Facts = append(line.Facts, eventFact{l.T("events." + name), text})
		}
	}
	fact("code", letter.Code)
	fact("reason", letter.Reason)
	fact("topic", l.T("events.by_"+map[bool]string{true: "edge", false: "processor"}[letter.Partition == nil]))
	line.Mend = site.TextOf(l, "mend."+letter.Code, l.T("mend.other"))
	line.Example = mends[letter.Code]
	if len(letter.Body) <= longestCause {
		line.Body = inspect.Marked(letter.Body)
	}
	return line
}

// viewWarned tells of an order that was taken, and of what of it does not count as it was sent.
func viewWarned(v site.Request, record *wire.Commerce, zone *time.Location) eventLine {
	l, line := v.Lang, timesOf(v, record.AcceptedAt, zone)
	line.Kind, line.Name, line.State = "order", l.T("order.title", record.ID), "pending"
	line.StateText = l.N("events.n_warned", int64(len(record.Warnings)))
	line.Href = site.OrderPath(v.Current.CompanyID, record.ID)
	var fields []string
	for _, w := range record.Warnings {
		about := w.Message
		if l.Tag != lang.Tags[0] { // the services' reasons are in one language
			about = site.TextOf(l, "warned."+w.Code, l.T("warned.other"))
			if w.Near != "" {
				about += " " + l.T("warned.near", w.Near)
			}
		}
		fields, line.Facts = append(fields, w.Field), append(line.Facts, eventFact{w.Field, about})
	}
	line.About = strings.Join(fields, ", ")
	return line
}

func viewCredited(v site.Request, sale commerce.Sale, zone *time.Location) eventLine {
	row, line := site.ViewSale(v.Lang, sale, v.Current.CompanyID, zone), timesOf(v, sale.ProcessedAt, zone)
	line.Kind, line.Name, line.Href = "order", v.Lang.T("order.title", row.Name), row.Href
	line.About = row.Total + " · " + row.StatusText
	line.State, line.StateText = "counts", row.Credited
	switch {
	case sale.WaitsFor != "":
		line.State, line.StateText = "pending", v.Lang.T("state.review")
	case sale.InfluencerID != "":
		line.State = "approved"
	}
	fact := func(name, text string) {
		if text != "" {
			line.Facts = append(line.Facts, eventFact{v.Lang.T(name), text})
		}
	}
	fact("sales.credited_to", row.Credited)
	fact("sales.evidence", row.EvidenceIs)
	fact("sales.commission", row.Commission)
	return line
}
