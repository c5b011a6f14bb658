package dashboard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-rod/rod"
	"github.com/go-rod/rod/lib/proto"
	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// testLog is a broker of the test's own, which starts when it is first asked.
type testLog struct {
	t      testing.TB
	once   sync.Once
	client *kafka.Client
	real   bool // an Apache Kafka
}

func (l *testLog) open() *kafka.Client {
	l.once.Do(func() {
		broker := ""
		if l.real {
			broker = devtest.RealKafka(l.t).Addr
		} else {
			broker = devtest.Kafka(l.t)
		}
		client, err := kafka.NewClient(kafka.Config{Brokers: []string{broker}})
		if err != nil {
			l.t.Fatal(err)
		}
		l.t.Cleanup(client.Close)
		// A topic that was made just now has no leader yet.
		for _, topic := range []string{wire.TopicEvents, wire.TopicRejected, wire.TopicCommerce} {
			await.Until(l.t, await.Long, func() bool {
				_, err = client.Tail(l.t.Context(), topic, nil, -1, 1)
				return err == nil
			}, func() string { return fmt.Sprint(err) })
		}
		l.client = client
	})
	return l.client
}

// Tail implements events.EventLog.
func (l *testLog) Tail(ctx context.Context, topic string, key []byte, from int64, most int) (wire.Tail, error) {
	return l.open().Tail(ctx, topic, key, from, most) //nolint:contextcheck // the broker is the test's, not one call's
}

// put writes a record, as the edge does.
func (l *testLog) put(topic, company string, record any) {
	l.t.Helper()
	value, err := json.Marshal(record)
	if err == nil {
		err = kafka.NewProducer(l.open()).Produce(l.t.Context(), topic, kafka.Record{Key: []byte(company), Value: value})
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// event writes an event of a visitor, and returns its id.
func (s *site) event(company, name, page string, change func(e *wire.Event)) string {
	s.t.Helper()
	id, err := uuid.NewV7()
	if err != nil {
		s.t.Fatal(err)
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	e := wire.Event{
		CompanyID: company, EventID: id.String(), Event: name, Timestamp: now.Add(-time.Second), ReceivedAt: now,
		VisitorID: "0199f3a0-0000-7000-8000-00000000000a",
		Bot:       wire.BotNone, Consent: wire.ConsentGranted, Via: wire.ViaJS, Trust: wire.TrustOpen,
		Identity: wire.Identity{EmailKey: "k1:secretkey"},
		Context:  wire.Context{Page: wire.Page{URL: page}, Library: wire.Library{Name: "tributary.js", Version: "1.0.0"}},
		Payload:  json.RawMessage(`{"nome": "Maria Silva"}`),
	}
	if change != nil {
		change(&e)
	}
	s.kafka.put(wire.TopicEvents, company, e)
	return e.EventID
}

func (s *site) reject(company, code, reason string, count int) {
	s.t.Helper()
	s.kafka.put(wire.TopicRejected, company,
		wire.Rejected{V: 1, CompanyID: company, EventID: "k1:digest", Topic: wire.TopicEvents, Code: code, Reason: reason, Count: count,
			Body: `{"event":"page view","identity":"(redacted)"}`, At: time.Now().UTC()})
}

// feed asks for what came after a cursor.
func (s *site) feed(client *http.Client, more url.Values) (status int, news struct {
	Cursor, HTML, Skipped string
	Count                 int
	Stored                []string
	Erased                map[string]string
}) {
	s.t.Helper()
	answer, err := client.Get(s.url + "/dashboard/events/feed?company=" + s.live + "&" + more.Encode())
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusOK {
		if err := json.NewDecoder(answer.Body).Decode(&news); err != nil {
			s.t.Fatal(err)
		}
	}
	return answer.StatusCode, news
}

// Each event with what it does, and each rejection with its mend, of this company alone;
// what comes later is asked for by the cursor.
func TestEventsAreToldWithWhatTheyDo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Influencer(s.live, "Ana Prado")
	owner := s.loggedIn()
	page := func(query string) string { return s.readAs(owner, "/dashboard/events?company="+s.live+query) }
	if text := page(""); !contains(text, "No event came lately", s.live) {
		t.Errorf("the empty page reads %s", text)
	}
	_, begin := s.feed(owner, nil)
	s.event(s.live, "PAGE_VIEW", "https://loja.example.com/p/1?utm_source=influencer&utm_campaign=Ana+Prado&email=maria", nil)
	s.event(s.live, "PRODUCT_VIEW", "https://loja.example.com/p/2", func(e *wire.Event) { e.Bot = wire.BotKnown })
	s.event(s.box, "ADD_TO_CART", "https://sandbox.example.com/", nil)
	s.reject(s.live, "invalid_event_name", "event must match [A-Z][A-Z0-9_]{0,63}", 3)
	s.reject(s.box, "too_deep", "is too deep", 1)
	s.Put(reporttest.Order{CompanyID: s.live, ID: "1001", TotalMinor: 1000})
	text := page("")
	if !contains(text, "Page view", "Name in code PAGE_VIEW", "Wrong event name", "loja.example.com/p/1",
		"Ana Prado", "UTM values: influencer / Ana Prado", "E-mail", "A program's",
		"a crawler", "3 rejected alike",
		"A name is one of PAGE_VIEW", "on its way", "Members of the payload nome", "Order 1001", "tributary.js 1.0.0") {
		t.Errorf("the page reads %s", text)
	}
	for _, not := range []string{"sandbox.example.com", "too deep", "maria", "Maria", "k1:"} {
		if strings.Contains(text, not) {
			t.Errorf("the page has %q", not)
		}
	}
	if text := page("&show=rejected"); contains(text, "loja.example.com/p/1") || !contains(text, "invalid_event_name") {
		t.Error("the filter does not hold")
	}
	_, news := s.feed(owner, url.Values{"after": {begin.Cursor}})
	if news.Count != 4 || !contains(news.HTML, "PAGE_VIEW", "PRODUCT_VIEW", "invalid_event_name", "1001") || news.Skipped != "" {
		t.Errorf("%+v", news)
	}
	if _, again := s.feed(owner, url.Values{"after": {news.Cursor}}); again.Count != 0 || again.Cursor != news.Cursor {
		t.Errorf("nothing came, and the feed has %+v", again)
	}
	// What became of events that are not in the log: told, unless it has lines of its own.
	at := time.Now().UTC()
	s.kafka.put(wire.TopicEvents, s.live,
		wire.Notice{V: 1, CompanyID: s.live, ID: []byte("1"), ReceivedAt: at, Origin: "https://loja.example.com", Duplicate: 2})
	s.kafka.put(wire.TopicEvents, s.live,
		wire.Notice{V: 1, CompanyID: s.live, ID: []byte("2"), ReceivedAt: at,
			Dropped: &wire.NoticeDropped{ID: []byte("2"), Counts: map[string]int64{"other": 3}}})
	s.kafka.put(wire.TopicEvents, s.live,
		wire.Notice{V: 1, CompanyID: s.live, ID: []byte("3"), ReceivedAt: at,
			Rejected: []wire.NoticeRejected{{Code: "too_deep", IDs: []byte("12345678")}}})
	_, notices := s.feed(owner, url.Values{"after": {news.Cursor}})
	if notices.Count != 2 || !contains(notices.HTML, "2 events again", "3 events given up", "3 · A reason that this version does not know.",
		"loja.example.com") ||
		contains(notices.HTML, ">stored<") {
		t.Errorf("%+v", notices)
	}
	news = notices
	id := s.event(s.live, "PAGE_VIEW", "https://loja.example.com/", nil)
	if _, stored := s.feed(owner, url.Values{"after": {news.Cursor}, "waiting": {id}}); stored.Count != 1 || len(stored.Stored) != 0 {
		t.Errorf("%+v", stored)
	}
	s.event(s.live, "PAGE_VIEW", "https://loja.example.com/", func(e *wire.Event) { e.CompanyID = "" }) // a program that is broken wrote it
	if _, broken := s.feed(owner, url.Values{"after": {news.Cursor}}); !contains(broken.HTML, "Names no store", "missing_company",
		"The record names no company") {
		t.Errorf("%+v", broken)
	}
	s.StoredEvent(s.live, id)
	if _, stored := s.feed(owner, url.Values{"after": {news.Cursor}, "waiting": {id}}); len(stored.Stored) != 1 || stored.Stored[0] != id ||
		contains(stored.HTML, "on its way") {
		t.Errorf("%+v", stored)
	}
	// A page that was away for longer than is read at once is told how much it missed.
	for range 1100 {
		s.kafka.put(wire.TopicRejected, s.box, wire.Rejected{})
	}
	if _, late := s.feed(owner, url.Values{"after": {begin.Cursor}, "show": {"rejected"}}); !contains(late.Skipped,
		"older records are not here: more came at once than this page shows. Nothing is lost.") {
		t.Errorf("%+v", late)
	}
	for _, bad := range []url.Values{{"after": {"x"}}, {"after": {"1.2"}}, {"show": {"x"}}, {"waiting": {"x"}},
		{"waiting": {strings.Repeat(id+",", 101)}}} {
		if status, _ := s.feed(owner, bad); status != http.StatusNotFound {
			t.Errorf("%v: %d", bad, status)
		}
	}
	analyst := s.join(account.RoleAnalyst, "bia@loja.example", s.Store.StoreID)
	if text := s.readAs(analyst, "/dashboard/events?company="+s.live); !contains(text, "PAGE_VIEW") {
		t.Error("an analyst sees no events")
	}
}

// The log keeps an erased person's events for some days. They are told as erased, without
// what they have; what the person sends later, and other people's events, are on their way.
func TestErasedEventsAreToldAsErased(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner := s.loggedIn()
	now := time.Now().UTC()
	event := func(page, visitor string, at time.Time) {
		s.event(s.live, "PAGE_VIEW", "https://loja.example.com/"+page, func(e *wire.Event) {
			e.VisitorID, e.Identity, e.Timestamp, e.ReceivedAt = visitor, wire.Identity{}, at, at
		})
	}
	const gone, other = "0199f3a0-0000-7000-8000-00000000000a", "0199f3a0-0000-7000-8000-00000000000b"
	event("before", gone, now.Add(-time.Minute))
	event("after", gone, now)
	event("another", other, now.Add(-time.Minute))
	s.Erased(s.live, facts.VisitorKey(gone), now.Add(-30*time.Second))
	s.Erased(s.box, facts.VisitorKey(other), now)
	status, news := s.feed(owner, url.Values{"show": {"event"}})
	if status != http.StatusOK || news.Count != 3 {
		t.Fatalf("%d: %+v", status, news)
	}
	if contains(news.HTML, "/before") || !contains(news.HTML, "/after", "/another") {
		t.Errorf("%s", news.HTML)
	}
	if erased, waiting := strings.Count(news.HTML, "Its person was erased"), strings.Count(news.HTML, "data-waiting="); erased != 1 ||
		waiting != 2 {
		t.Errorf("%d are told as erased and %d as on their way: %s", erased, waiting, news.HTML)
	}
}

// An event that a page waits for while its person is erased is told as erased: without what
// it has, and without a reload.
func TestAnEventThatIsErasedWhileItIsWaitedForIsTold(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner := s.loggedIn()
	const gone = "0199f3a0-0000-7000-8000-00000000000a"
	put := func(page, visitor string) string {
		return s.event(s.live, "PAGE_VIEW", "https://loja.example.com/"+page, func(e *wire.Event) {
			e.VisitorID, e.Identity = visitor, wire.Identity{}
		})
	}
	erased, other := put("before", gone), put("another", "0199f3a0-0000-7000-8000-00000000000b")
	_, begin := s.feed(owner, url.Values{})
	if n := strings.Count(begin.HTML, "data-waiting="); n != 2 {
		t.Fatalf("%d are waited for", n)
	}
	s.Erased(s.live, facts.VisitorKey(gone), time.Now().Add(time.Minute))
	ask := url.Values{"after": {begin.Cursor}, "waiting": {erased + "," + other}}
	if _, news := s.feed(owner, ask); len(news.Erased) != 0 {
		t.Errorf("it is looked for at each time: %v", news.Erased)
	}
	ask.Set("late", "1")
	_, news := s.feed(owner, ask)
	if line := news.Erased[erased]; len(news.Erased) != 1 || !contains(line, "Its person was erased") || contains(line, "/before") ||
		contains(line, "data-waiting") {
		t.Errorf("%v", news.Erased)
	}
}

// Anybody may send events for a store: what they write stays text, in its place.
func TestAStrangersTextStaysText(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner := s.loggedIn()
	_, begin := s.feed(owner, url.Values{})
	s.event(s.live, "PAGE_VIEW",
		"https://l\u043eja.example.com/\u202egpj?utm_source=<img src=x onerror=alert(1)>&utm_campaign=Ana%E2%80%AE+Prado", func(e *wire.Event) {
			e.Context.Library = wire.Library{Name: "x\u202e\"><script>", Version: "1"}
			e.Payload = json.RawMessage(`{"\u202edorp":1,"<b>":2}`)
		})
	s.reject(s.live, "invalid_event_name", "event \u2066<script>", 1)
	s.kafka.put(wire.TopicEvents, s.live,
		wire.Notice{V: 1, CompanyID: s.live, ID: []byte("0123456789abcdef"), ReceivedAt: time.Now().UTC(), Duplicate: 1,
			Origin: "https://l\u043eja.example.com\u202e"})
	status, news := s.feed(owner, url.Values{"after": {begin.Cursor}})
	if status != http.StatusOK || news.Count != 3 {
		t.Fatalf("%d: %+v", status, news)
	}
	if strings.ContainsAny(news.HTML, "\u202e\u2066\u043e") {
		t.Errorf("a text turns what is behind it around, or looks like another one: %s", news.HTML)
	}
	if contains(news.HTML, "<script") || contains(news.HTML, "<img") || contains(news.HTML, "<b>") ||
		!contains(news.HTML, "xn--lja-sed.example.com", `Ana\u202e Prado`, `\u202edorp`) {
		t.Errorf("%s", news.HTML)
	}
}

// On a real Kafka, as people see it: an event and a rejection appear without a reload;
// the page pauses, goes on where it was, and copies a mend.
func TestEventsAppearOnTheOpenPage(t *testing.T) {
	s := newSite(t)
	s.kafka.real = true
	s.kafka.open()
	s.Influencer(s.live, "Ana Prado")
	browser := devtest.Shell(t)
	page := browser.MustPage("").Timeout(3 * time.Minute)
	complaints := make(chan string, 100)
	go page.EachEvent(func(e *proto.LogEntryAdded) { complaints <- e.Entry.Text },
		func(e *proto.RuntimeExceptionThrown) { complaints <- e.ExceptionDetails.Text })()
	shots := shooter{t: t, page: page, dir: os.Getenv("TRIBUTARY_SHOTS")}
	s.enter(page)
	page.MustNavigate(s.url + "/dashboard/events?company=" + s.live).MustWaitLoad()
	page.MustElement("#live[data-state=on]")
	page.MustElement("#events-empty").MustWaitVisible()
	shots.take("events-empty")
	s.event(s.live, "PAGE_VIEW", "https://loja.example.com/p/vestido-longo?utm_source=influencer&utm_campaign=Ana+Prado", nil)
	page.MustElementR("#events li", "Page view")
	s.event(s.live, "PRODUCT_VIEW", "https://loja.example.com/p/vestido-longo", nil)
	s.event(s.live, "CHECKOUT_COMPLETED", "https://loja.example.com/obrigado", func(e *wire.Event) { e.Bot = wire.BotPrefetch })
	s.reject(s.live, "payload_items_required", "payload.items is required", 1)
	s.Put(reporttest.Order{CompanyID: s.live, ID: "1001", TotalMinor: 12990})
	row := page.MustElementR("#events li", "No items of the purchase")
	page.MustElementR("#events li", "Order 1001")
	if page.MustElement("#events-empty").MustVisible() {
		t.Error("the empty state is still shown")
	}
	row.MustElement("summary").MustClick()
	page.MustElementR("#events li", "Ana Prado").MustElement("summary").MustClick()
	axeInBothSchemes(t, page, "events")
	shots.take("events")
	for _, width := range []int{1280, 390} {
		page.MustSetViewport(width, 800, 1, width < 500)
		if wide := page.MustEval(`() => document.documentElement.scrollWidth`).Int(); wide > width {
			t.Errorf("the page is %d px wide on a screen of %d", wide, width)
		}
	}
	if err := (proto.BrowserGrantPermissions{Permissions: []proto.BrowserPermissionType{
		proto.BrowserPermissionTypeClipboardReadWrite, proto.BrowserPermissionTypeClipboardSanitizedWrite,
	}}).Call(browser); err != nil {
		t.Fatal(err)
	}
	row.MustElement("button.copies").MustClick()
	page.MustElementR("#copied", "Copied")
	if got := page.MustEval(`() => navigator.clipboard.readText()`).Str(); !json.Valid([]byte(got)) ||
		!contains(got, "CHECKOUT_COMPLETED", "item_quantity") {
		t.Errorf("the mend that is copied is %q", got)
	}
	page.MustElement("#pause").MustClick()
	page.MustElement("#live[data-state=paused]")
	s.event(s.live, "ADD_TO_CART", "https://loja.example.com/carrinho", nil)
	page.MustElement("#pause").MustClick()
	page.MustElementR("#events li", "Added to cart")
	if n := len(page.MustElements("#events li")); n != 6 {
		t.Errorf("%d lines, want 6", n)
	}
	// Of a visitor who is erased meanwhile, the page shows nothing any more.
	s.Erased(s.live, facts.VisitorKey("0199f3a0-0000-7000-8000-00000000000a"), time.Now().Add(time.Minute))
	page.MustWait(`() => !document.querySelector('#events [data-waiting]')`)
	if text := page.MustElement("#events").MustText(); !contains(text, "Erased") || contains(text, "vestido-longo") {
		t.Errorf("of an erased person's events the page shows %s", text)
	}
	for len(complaints) > 0 {
		t.Errorf("the browser complains: %s", <-complaints)
	}

	// A page that nobody looks at asks for nothing: another one has asked twice meanwhile.
	other := browser.MustPage(s.url + "/dashboard/events?company=" + s.live).Timeout(3 * time.Minute).MustWaitLoad()
	other.MustElement("#live[data-state=on]")
	show := func(hidden bool) {
		page.MustEval(`(hidden) => {
			Object.defineProperty(document, 'hidden', {configurable: true, get: () => hidden});
			document.dispatchEvent(new Event('visibilitychange'));
		}`, hidden)
	}
	show(true)
	for _, name := range []string{"HIDDEN_ONE", "HIDDEN_TWO"} {
		s.event(s.live, name, "https://loja.example.com/", nil)
		other.MustElementR("#events li", name)
	}
	if has, _, _ := page.HasR("#events li", "HIDDEN_"); has {
		t.Error("a page that nobody looks at asked for events")
	}
	show(false)
	page.MustElementR("#events li", "HIDDEN_TWO")

	// Without a network the page says so, and goes on where it was.
	network := page.HijackRequests()
	network.MustAdd("*/dashboard/*", func(h *rod.Hijack) { h.Response.Fail(proto.NetworkErrorReasonInternetDisconnected) })
	go network.Run()
	page.MustElement("#live[data-state=off]")
	s.event(s.live, "MEANWHILE", "https://loja.example.com/", nil)
	network.MustStop()
	page.MustElementR("#events li", "MEANWHILE")
	page.MustElement("#live[data-state=on]")
	if n := len(page.MustElements("#events li")); n != 9 {
		t.Errorf("%d lines, want 9", n)
	}
}
