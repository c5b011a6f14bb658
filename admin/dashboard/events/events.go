package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tributary-io/tributary/admin/dashboard/inspect"
	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/uuidtext"
	"github.com/tributary-io/tributary/internal/wire"
)

// EventLog reads the ends of logs. internal/kafka.Client is one.
type EventLog interface {
	// Tail reads the records of a key from an offset to the end of its partition, of the
	// last `most` records at most; a negative offset reads these.
	Tail(ctx context.Context, topic string, key []byte, from int64, most int) (wire.Tail, error)
}

// RuleReader reads companies' rules. internal/postgres/cases.Reader is one.
type RuleReader interface {
	Revisions(ctx context.Context, companyIDs []string) (map[string]int64, error)
	Rules(ctx context.Context, companyID string) (*facts.Rules, error)
}

const (
	// mostTail is how many records of a log are read at once, of all stores in it, and
	// mostLines how many lines are shown of them.
	mostTail  = 1000
	mostLines = 200
	// mostOrders bounds the orders that are read at once.
	mostOrders = 100
	// mostWaiting bounds the events of which a page asks whether they are stored now.
	mostWaiting = 100
	// readsOfEvents is how many pages are read for at once, and personsReads those of one
	// person.
	readsOfEvents = 4
	personsReads  = 2
	// longestCause bounds the text of a rejected event that is shown, in bytes.
	longestCause = 4 << 10
)

// Kinds of lines, in the parameter "show".
var eventKinds = []string{"event", "rejected", "order"}

// eventsPage is what templates/events.html shows.
type eventsPage struct {
	site.Head
	Here0   string // this page without a filter
	Kinds   []site.Option
	Kind    string // empty: all
	None    bool   // there is no log here
	List    []eventLine
	Looked  string // how far back the page looks at first
	Skipped string // what was not looked at; may be empty
	Feed    string // path of what comes later
	Limit   int
	Install string
}

// eventLine is an event, a rejection, or an order that was credited.
type eventLine struct {
	Kind        string // one of eventKinds
	ID          string // of an event that is not stored yet; empty: nothing is waited for
	at          time.Time
	Time, Stamp string
	Name, About string // what it is, and where
	Kept        bool   // it is an event that is stored, or will be
	State       string // approved | pending | cancelled: a class
	StateText   string
	Href        string // of an order
	Facts       []eventFact
	Mend        string // how a rejected event is mended
	Example     string // JSON to copy
	Body        string // of a rejected event, redacted

	happened time.Time // of an event
	erasure  [][]byte  // of an event: inspect.Event.Erasure
}

type eventFact struct{ Name, Text string }

func (s *Pages) eventRoutes() []site.Route {
	return []site.Route{
		{Pattern: "GET " + site.EventsPath, Handle: s.events},
		{Pattern: "GET " + site.EventsPath + "/feed", Handle: s.eventsFeed},
	}
}

// eventCursor is how far a page has read: "<offset of events>.<of rejections>.<of what the platform sends>.<orders' cursor>".
type eventCursor struct {
	events, rejected, sent int64
	sales                  commerce.Cursor
}

// fromTheEnd is the cursor of a page that has read nothing.
var fromTheEnd = eventCursor{events: -1, rejected: -1, sent: -1}

func (c eventCursor) String() string {
	return fmt.Sprintf("%d.%d.%d.%s", c.events, c.rejected, c.sent, c.sales.String())
}

func parseEventCursor(text string) (c eventCursor, err error) {
	parts := strings.SplitN(text, ".", 4)
	if len(parts) != 4 {
		return c, site.ErrBadAddress
	}
	for i, offset := range []*int64{&c.events, &c.rejected, &c.sent} {
		if err == nil {
			*offset, err = strconv.ParseInt(parts[i], 10, 64)
		}
	}
	if err == nil {
		c.sales, err = commerce.ParseCursor(parts[3])
	}
	if err != nil {
		return c, fmt.Errorf("%w: %w", site.ErrBadAddress, err)
	}
	return c, nil
}

// events is the page of what comes, without scripts as a list of the latest.
func (s *Pages) events(w http.ResponseWriter, r *http.Request, v site.Request) {
	kind := r.URL.Query().Get("show")
	if kind != "" && !slices.Contains(eventKinds, kind) {
		s.Refuse(w, r, site.ErrBadAddress)
		return
	}
	page := eventsPage{Head: v.Head(v.Lang.T("events.title"), "events"), Kind: kind, None: s.eventLog == nil, Limit: mostLines,
		Here0: v.Path(site.EventsPath), Install: v.Path(site.InstallPath)}
	page.Kinds = []site.Option{{Label: v.Lang.T("events.all")}}
	for _, name := range eventKinds {
		page.Kinds = append(page.Kinds, site.Option{Value: name, Label: v.Lang.T("events.show_" + name), Chosen: name == kind})
	}
	if s.eventLog != nil {
		found, err := s.readEvents(r.Context(), v, fromTheEnd, kind)
		if err != nil {
			s.Unavailable(w, r, err)
			return
		}
		page.Looked = v.Lang.T("events.looked", v.Lang.Count(mostTail))
		page.List, page.Skipped = found.lines, found.skippedWords(v)
		page.Feed = v.Path(site.EventsPath+"/feed", "show", kind, "after", found.cursor.String())
	}
	s.Render(w, r, http.StatusOK, "events.html", page)
}

// eventsFeed is what came after a cursor, as JSON with the lines' HTML.
func (s *Pages) eventsFeed(w http.ResponseWriter, r *http.Request, v site.Request) {
	query := r.URL.Query()
	kind, waiting := query.Get("show"), strings.FieldsFunc(query.Get("waiting"), func(r rune) bool { return r == ',' })
	bad := kind != "" && !slices.Contains(eventKinds, kind) || len(waiting) > mostWaiting ||
		slices.ContainsFunc(waiting, func(id string) bool { return !uuidtext.Is(id) })
	cursor, err := fromTheEnd, error(nil)
	if query.Has("after") {
		cursor, err = parseEventCursor(query.Get("after"))
	}
	if bad || err != nil || s.eventLog == nil {
		http.Error(w, "the address asks for what there is not", http.StatusNotFound)
		return
	}
	found, err := s.readEvents(r.Context(), v, cursor, kind)
	if err == nil && len(waiting) > 0 {
		found.stored, err = s.db.StoredEvents(r.Context(), v.Current.CompanyID, waiting)
	}
	// A page asks this seldom: an event is stored within moments, unless it never will be.
	if late := without(waiting, found.stored); err == nil && len(late) > 0 && query.Get("late") != "" {
		found.erased, err = s.erasedLines(r.Context(), v, late)
	}
	if err != nil {
		s.Log.Warn("dashboard: events could not be read", "company", v.Current.CompanyID, "error", err)
		w.Header().Set("Retry-After", "5")
		http.Error(w, "not available just now", http.StatusServiceUnavailable)
		return
	}
	html, err := s.Fragment(v.Lang, "events.html", "event-lines", found.lines)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{ // the client may have hung up
		"cursor": found.cursor.String(), "html": html, "count": len(found.lines), "skipped": found.skippedWords(v),
		"stored": found.stored, "erased": found.erased,
	})
}

// foundEvents is what one look at the logs found.
type foundEvents struct {
	lines   []eventLine // the newest first
	cursor  eventCursor
	skipped int64 // records, of all stores, and lines that are not shown
	stored  []string
	erased  map[string]string // lines by the id of the event
}

// without returns the texts of a list that are not in another.
func without(list, others []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(text string) bool { return slices.Contains(others, text) })
}

func (f *foundEvents) skippedWords(v site.Request) string {
	if f.skipped == 0 {
		return ""
	}
	return v.Lang.N("events.skipped", f.skipped)
}

// readEvents reads the logs' ends after a cursor, and the day's orders that were computed
// since. Only so many pages are read for at once.
func (s *Pages) readEvents(ctx context.Context, v site.Request, after eventCursor, kind string) (found foundEvents, err error) {
	end, err := s.reading.Take(ctx, v.Access.PersonID)
	if err != nil {
		return found, err
	}
	defer end()
	key := []byte(v.Current.CompanyID)
	var events, rejected, sent wire.Tail
	var sales []commerce.Sale
	var index *attribution.Index
	group, asking := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		events, err = s.eventLog.Tail(asking, wire.TopicEvents, key, after.events, mostTail)
		return err
	})
	group.Go(func() (err error) {
		rejected, err = s.eventLog.Tail(asking, wire.TopicRejected, key, after.rejected, mostTail)
		return err
	})
	group.Go(func() (err error) {
		sent, err = s.eventLog.Tail(asking, wire.TopicCommerce, key, after.sent, mostTail)
		return err
	})
	group.Go(func() (err error) {
		sales, err = s.db.SalesSince(asking, v.Current.CompanyID, s.DayOf(v), after.sales, mostOrders)
		return err
	})
	group.Go(func() (err error) {
		index, err = s.indexOf(asking, v.Current.CompanyID)
		return err
	})
	if err := group.Wait(); err != nil {
		return found, err
	}
	found.cursor = eventCursor{events.Next, rejected.Next, sent.Next, after.sales}
	found.skipped = events.Skipped + rejected.Skipped + sent.Skipped
	zone := v.Zone()
	var ids []string
	for _, value := range events.Values {
		if wire.IsNotice(value) {
			if line, told := viewNotice(v, value, zone); told {
				found.add(kind, line)
			}
			continue
		}
		e := inspect.Record(value, index)
		if e.Fault == "" {
			ids = append(ids, e.ID)
		}
		found.add(kind, viewEvent(v, &e, zone))
	}
	for _, value := range rejected.Values {
		var letter wire.Rejected
		if json.Unmarshal(value, &letter) == nil { // else a newer program wrote it
			found.add(kind, viewRejected(v, &letter, zone))
		}
	}
	for _, value := range sent.Values {
		var record wire.Commerce
		if json.Unmarshal(value, &record) == nil && record.Kind == wire.KindOrder && len(record.Warnings) > 0 {
			found.add(kind, viewWarned(v, &record, zone))
		}
	}
	for _, sale := range sales {
		if c := (commerce.Cursor{At: sale.ProcessedAt, OrderID: sale.OrderID}); found.cursor.sales.Before(c) {
			found.cursor.sales = c
		}
		found.add(kind, viewCredited(v, sale, zone))
	}
	found.newestFirst()
	return found, s.markStored(ctx, v, &found, ids)
}

// add adds a line of a kind that is shown. Of its texts anybody may have written some.
func (f *foundEvents) add(kind string, line eventLine) {
	if kind != "" && line.Kind != kind {
		return
	}
	for _, text := range []*string{&line.Name, &line.About, &line.StateText, &line.Body} {
		*text = inspect.Visible(*text)
	}
	for i := range line.Facts {
		line.Facts[i].Text = inspect.Visible(line.Facts[i].Text)
	}
	f.lines = append(f.lines, line)
}

// newestFirst orders the lines, and leaves out the oldest where there are too many.
func (f *foundEvents) newestFirst() {
	slices.Reverse(f.lines) // of one instant the last comes first
	slices.SortStableFunc(f.lines, func(a, b eventLine) int { return b.at.Compare(a.at) })
	if extra := len(f.lines) - mostLines; extra > 0 {
		f.skipped += int64(extra)
		f.lines = f.lines[:mostLines]
	}
}

// markStored tells of the events which are stored already, and which are erased; the others
// are waited for.
func (s *Pages) markStored(ctx context.Context, v site.Request, f *foundEvents, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	stored, err := s.db.StoredEvents(ctx, v.Current.CompanyID, ids)
	if err != nil {
		return err
	}
	for i := range f.lines {
		if line := &f.lines[i]; slices.Contains(stored, line.ID) {
			line.ID = ""
		}
	}
	return s.markErased(ctx, v, f)
}

// markErased tells of the events that are not stored since their person is erased. The log
// still has them for some days; of what they have, nothing is shown.
func (s *Pages) markErased(ctx context.Context, v site.Request, f *foundEvents) error {
	var digests [][]byte
	for _, line := range f.lines {
		if line.ID != "" {
			digests = append(digests, line.erasure...)
		}
	}
	if len(digests) == 0 {
		return nil
	}
	until, err := s.db.ErasedUntil(ctx, v.Current.CompanyID, digests)
	if err != nil {
		return err
	}
	for i := range f.lines {
		line := &f.lines[i]
		if line.ID != "" && slices.ContainsFunc(line.erasure, func(digest []byte) bool {
			at, erased := until[string(digest)]
			return erased && !line.happened.After(at)
		}) {
			line.ID, line.Kept, line.About = "", false, ""
			line.State, line.StateText = "over", v.Lang.T("events.effect_erased")
			line.Facts = []eventFact{{v.Lang.T("events.effect"), v.Lang.T("events.about_erased")}}
		}
	}
	return nil
}

// mostIndexes bounds the companies whose rules are kept in memory for the page.
const mostIndexes = 4

// indexOf returns a company's rules as they are now. Those of the companies that were
// asked for last are kept until they change.
func (s *Pages) indexOf(ctx context.Context, companyID string) (*attribution.Index, error) {
	revisions, err := s.rules.Revisions(ctx, []string{companyID})
	if err != nil {
		return nil, err
	}
	s.indexMu.Lock()
	for _, x := range s.indexes {
		if x.CompanyID() == companyID && x.Rev() == revisions[companyID] {
			s.indexMu.Unlock()
			return x, nil
		}
	}
	s.indexMu.Unlock()
	rules, err := s.rules.Rules(ctx, companyID)
	if err != nil {
		return nil, err
	}
	index := attribution.NewIndex(rules)
	s.indexMu.Lock()
	defer s.indexMu.Unlock()
	s.indexes = slices.DeleteFunc(s.indexes, func(x *attribution.Index) bool { return x.CompanyID() == companyID })
	s.indexes = append(s.indexes[max(0, len(s.indexes)+1-mostIndexes):], index)
	return index, nil
}

// errNoRules says that a page of events was wired without rules.
var errNoRules = errors.New("dashboard: Events needs Rules")

// effectClasses are the classes by which effects are shown.
var effectClasses = map[inspect.Effect]string{
	inspect.Refused: "cancelled", inspect.Program: "over", inspect.Late: "over", inspect.Nobody: "over", inspect.Framed: "over",
	inspect.Ours: "approved", inspect.Came: "pending", inspect.Counts: "counts",
}
