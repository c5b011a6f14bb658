package webhooks

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lang"
)

// messagesPerPage are the messages that a page shows.
const messagesPerPage = 50

// soon is how long before its attempt a message is waited for: the page then asks for itself.
const soon = 15 * time.Second

// endpointPage is what templates/webhook.html shows.
type endpointPage struct {
	site.Head
	words
	ID, Name, URL, List string
	Runs                bool
	Secret              string // it was made just now, and is shown once
	State, StateIs      string
	Said                []string
	Mend                string // what to do about it
	Active              bool
	Events              []site.Option
	Tiles               []site.Tile
	Form                *site.Form // what can be changed
	New                 *site.Form // asks for a new secret; nil: it is made
	Replay              *site.Form
	Rest                bool                     // a replay ended before it had all: the form sends the rest
	Missed              string                   // it was enabled just now: from when on what happened was not kept for it
	Network             commerce.DestinationKind // that is told where a buyer agreed, which the shop's page says; empty: a webhook
	States              []site.Link              // of messages: which are shown
	Messages            []messageRow
	Older               string // path of older messages; empty: these are the last
	Again               string // path of this page while something is to be sent soon
}

// messageRow is a message with what became of it.
type messageRow struct {
	Number                       int64
	Type, Of, When               string
	Order                        string // path of the order that it is about; may be empty
	State, StateIs, Next, Answer string
	Tried                        int64
	Tries                        []string // the newest first
	ID, Body                     string   // webhook-id and what is sent; empty where it is nobody else's business
	Behind                       bool
}

func (s kindPages) endpoint(w http.ResponseWriter, r *http.Request, v site.Request) {
	e, ok := s.endpointOf(w, r, v, r.URL.Query().Get("id"))
	if !ok {
		return
	}
	page := endpointPage{}
	if made := s.TakeMade(w, r, v, s.one, 2); made != nil && made[0] == e.ID {
		page.Secret = made[1]
	}
	s.showEndpoint(w, r, v, http.StatusOK, e, page)
}

// showEndpoint shows the page of an endpoint; page has the forms that are shown again.
func (s kindPages) showEndpoint(w http.ResponseWriter, r *http.Request, v site.Request, status int, e commerce.Endpoint,
	page endpointPage) {
	l, zone, query := v.Lang, v.Zone(), r.URL.Query()
	state, before := query.Get("state"), query.Get("before")
	v.Here = s.path(v.Current.CompanyID, e.ID, "state", state, "before", before)
	number, err := int64(0), error(nil)
	if before != "" {
		number, err = strconv.ParseInt(before, 10, 64)
	}
	if err != nil || number < 0 || state != "" && !slices.Contains(s.states, state) {
		s.Refuse(w, r, site.ErrBadAddress)
		return
	}
	page.Head, page.words = v.Head(e.Name, s.texts), words{l, s.kind}
	offer, err := s.db.ConnectOffer(r.Context())
	var list []commerce.Message
	if err == nil {
		page.Versions, err = s.VersionsOf(r.Context(), v.Current.CompanyID, e.ID)
	}
	if err == nil {
		list, err = s.db.Messages(r.Context(), v.Current.CompanyID, e.ID, state, number, messagesPerPage+1)
	}
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	if len(list) > messagesPerPage {
		list = list[:messagesPerPage]
		page.Older = s.path(v.Current.CompanyID, e.ID, "state", state, "before", strconv.FormatInt(list[len(list)-1].Number, 10))
	}
	for i := range list {
		page.Messages = append(page.Messages, s.viewMessage(l, zone, s.Now(), e, &list[i]))
		if e.Active && list[i].State == commerce.MessageWaiting && list[i].DueAt.Sub(s.Now()) < soon && offer.Runs(s.Now()) {
			page.Again = v.Here
		}
	}
	page.ID, page.Name, page.URL, page.List = e.ID, e.Name, s.address(l, e), v.Path(s.kind.list)
	page.Runs, page.Active = offer.Runs(s.Now()), e.Active
	if s.prefix == commerce.NetworkPrefix {
		page.Network = e.Kind
	}
	page.State, page.StateIs, page.Said = s.stateWords(l, zone, e)
	page.Mend = site.TextOf(l, s.key(l, "mend_"+e.State()), "")
	page.Events = s.settings(l, e)
	page.Tiles = s.tiles(l, zone, e)
	for _, one := range append([]string{""}, s.states...) {
		page.States = append(page.States, site.Link{Name: s.text(l, "show_"+one), Current: one == state,
			Path: s.path(v.Current.CompanyID, e.ID, "state", one)})
	}
	if page.Form == nil {
		page.Form = s.form(v, nil, e)
	}
	if page.New == nil && s.kind.secret != nil {
		page.New = s.kind.secret(v, nil)
	}
	if page.Replay == nil {
		var typed map[string][]string
		if at, err := time.Parse(time.RFC3339, query.Get("from")); err == nil && commerce.Recordable(at) { // it was enabled just now
			typed = map[string][]string{"from": {at.In(zone).Format(momentLayout)}}
			page.Missed = s.text(l, "missed", l.Time(at.In(zone)))
		}
		page.Replay = replayForm(v, typed, e)
	}
	s.Render(w, r, status, "webhook.html", page)
}

func (k kind) tiles(l *lang.Printer, zone *time.Location, e commerce.Endpoint) []site.Tile {
	tile := func(id, text, note string) site.Tile {
		return site.Tile{ID: "webhook-" + id, Label: k.text(l, id), Lines: []string{text}, Note: note, Size: site.SizeOf(text)}
	}
	return []site.Tile{tile("waiting", l.Count(e.Waiting), ""), tile("parked", l.Count(e.Parked), k.text(l, "parked_note")),
		tile("delivered", k.delivered(l, zone, e), "")}
}

func (k kind) viewMessage(l *lang.Printer, zone *time.Location, now time.Time, e commerce.Endpoint, m *commerce.Message) messageRow {
	line := messageRow{Number: m.Number, Type: string(m.Type), Of: m.Key, When: l.Time(m.At.In(zone)), Tried: int64(len(m.Tries)),
		State: k.text(l, "message_"+m.State), StateIs: "pending"}
	var about commerce.ConversionTold
	switch {
	case m.Type == commerce.EndpointTest || m.Type == commerce.ConversionTest:
		line.Of = "" // each is its own
	case k.prefix == commerce.NetworkPrefix && json.Unmarshal(m.Data, &about) == nil:
		line.Of, line.Order = about.OrderID, site.OrderPath(e.CompanyID, about.OrderID)
	default:
		if order, ok := strings.CutPrefix(m.Key, "order:"); ok {
			line.Of, line.Order = order, site.OrderPath(e.CompanyID, order)
		}
	}
	if k.prefix == commerce.NetworkPrefix {
		line.Type = site.TextOf(l, "conversions."+strings.ReplaceAll(string(m.Type), ".", "_"), line.Type)
	}
	switch m.State {
	case commerce.MessageDelivered:
		line.StateIs = "approved"
	case commerce.MessageParked:
		line.StateIs = "cancelled"
	case commerce.MessageSkipped:
		line.StateIs = "over"
	default:
		switch line.Behind = m.Behind; {
		case m.Behind:
			line.Next = k.text(l, "behind")
		case e.Active:
			line.Next = k.text(l, "next", l.Time(m.DueAt.In(zone)))
		}
		if k.prefix == commerce.NetworkPrefix && len(m.Tries) == 0 && m.DueAt.After(now) { // it was looked at, and is looked at again
			line.Answer = l.T("conversions.not_known")
		}
	}
	if body, err := m.Body(); err == nil && k.prefix == commerce.EndpointPrefix {
		var indented bytes.Buffer
		if json.Indent(&indented, body, "", "  ") == nil {
			line.ID, line.Body = m.ID, indented.String()
		}
	}
	for _, t := range slices.Backward(m.Tries) {
		said := k.answerWords(l, e.Kind, t)
		if line.Answer == "" {
			line.Answer = said
		}
		line.Tries = append(line.Tries, k.text(l, "try", l.Instant(t.At.In(zone)), said))
	}
	return line
}

// answerWords says what was answered, or why nothing came or was sent.
func (k kind) answerWords(l *lang.Printer, to commerce.DestinationKind, t commerce.Try) string {
	said := ""
	if t.Status != 0 {
		said = k.text(l, "answered", strconv.Itoa(t.Status), strconv.FormatInt(t.TookMS, 10))
	}
	if t.Answer != "" {
		said = strings.TrimPrefix(said+": "+t.Answer, ": ")
	}
	if key := k.key(l, "failure_"+t.Failure); l.Has(key) && (said == "" || k.prefix == commerce.NetworkPrefix) {
		said = strings.TrimSpace(l.T(key, networkName(l, to)) + " " + said)
	}
	if said == "" {
		said = t.Failure
	}
	return said
}
