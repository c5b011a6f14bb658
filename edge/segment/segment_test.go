package segment

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

const now = 1_773_576_000_000 // 2026-03-15T12:00:00Z

// eventsOf are the events of a body, as the edge parses them.
func eventsOf(t testing.TB, call Call, body string, trust wire.Trust) []core.Item {
	t.Helper()
	r, v := Read(call, body)
	if v != nil {
		t.Fatalf("%s: %v", body, v)
	}
	events := r.Events(Source{CompanyID: "c_1", Trust: trust, Now: now})
	batch, v := core.ParseBatch(events.Body, "c_1", core.Options{Now: now})
	if v != nil {
		t.Fatalf("%s became %s: %v", body, events.Body, v)
	}
	if len(batch.Items) != len(events.Refused) {
		t.Fatalf("%s: %d events of %d messages", body, len(batch.Items), len(events.Refused))
	}
	for i, refused := range events.Refused {
		if refused != nil {
			batch.Items[i] = core.Item{Event: core.Event{ID: refused.EventID}, Err: &refused.Violation}
		}
	}
	return batch.Items
}

// The messages are like those of Segment's specification: segment.com/docs/connections/spec.
func TestWhatTheSpecificationSaysIsTaken(t *testing.T) {
	t.Parallel()
	const at, stamp = `"timestamp":"2026-03-15T11:59:00.000Z",`, `,"timestamp":"2026-03-15T11:59:00.000Z"`
	for _, f := range []struct {
		what string
		call Call
		in   string
		want string // without its time
	}{
		{"page", Page, `{"anonymousId":"a-1","name":"Home","category":"Docs","properties":{"title":"Welcome",
			"url":"https://loja.example.com/?utm_source=x","path":"/","referrer":"https://search.example/",
			"search":"?utm_source=x","keywords":["a"]}}`,
			`{"event":"PAGE_VIEW","payload":{"name":"Home","keywords":["a"]},"context":{"page":{` +
				`"url":"https://loja.example.com/?utm_source=x","path":"/","referrer":"https://search.example/","title":"Welcome"},` +
				`"campaign":{"source":"x"}},"visitorId":"segment:a-1"}`},
		{"screen", Screen, `{"userId":"u-1","name":"Checkout","properties":{"variation":"blue"}}`,
			`{"event":"SCREEN_VIEW","payload":{"name":"Checkout","variation":"blue"},"identity":{"customer_id":"u-1"}}`},
		{"identify", Identify, `{"userId":97980,"anonymousId":"a-1","traits":{"email":"ana@example.com","phone":"+5511912345678","name":"Ana",
			"address":{"city":"São Paulo"}}}`,
			`{"event":"IDENTIFY","visitorId":"segment:a-1","identity":{"email":"ana@example.com","phone":"+5511912345678","customer_id":"97980"}}`},
		{"group: its traits are of a firm", Group, `{"userId":"u-1","groupId":"g","traits":{"email":"firm@example.com","name":"Firm"},
			"context":{"traits":{"email":"ana@example.com"}}}`,
			`{"event":"GROUP","identity":{"email":"ana@example.com","customer_id":"u-1"}}`},
		{"alias", Alias, `{"previousId":"a-1","userId":"u-1"}`, `{"event":"ALIAS","visitorId":"segment:a-1","identity":{"customer_id":"u-1"}}`},
		{"alias of a browser", Alias, `{"previousId":"u-0","userId":"u-1","anonymousId":"a-1"}`,
			`{"event":"ALIAS","visitorId":"segment:a-1","identity":{"customer_id":"u-1"}}`},
		{"track", Track, `{"userId":"u-1","event":"User Registered","properties":{"plan":"Pro","accountType":"Facebook"}}`,
			`{"event":"USER_REGISTERED","payload":{"plan":"Pro","accountType":"Facebook"},"identity":{"customer_id":"u-1"}}`},
		{"context", Track, `{"event":"Seen","context":{"active":true,"ip":"203.0.113.7","locale":"pt-BR","userAgent":"Mozilla/5.0",
			"library":{"name":"analytics.js","version":"2.11.1"},"screen":{"width":320,"height":568,"density":2},"timezone":"Europe/Amsterdam",
			"campaign":{"name":"TPS","source":"Newsletter","medium":"email","term":"t","content":"image"},
			"page":{"path":"/academy/","referrer":"","search":"","title":"Academy","url":"https://loja.example.com/academy/"}}}`,
			`{"event":"SEEN","context":{"page":{"url":"https://loja.example.com/academy/","path":"/academy/","title":"Academy"},` +
				`"campaign":{"source":"Newsletter","medium":"email","name":"TPS","content":"image","term":"t"},` +
				`"library":{"name":"analytics.js","version":"2.11.1"},"locale":"pt-BR","screen":"320x568","userAgent":"Mozilla/5.0"}}`},
		{"Products Searched", Track, `{"event":"Products Searched","properties":{"query":"blue hotpants"}}`,
			`{"event":"PRODUCTS_SEARCHED","payload":{"query":"blue hotpants"}}`},
		{"Product Viewed", Track, `{"event":"Product Viewed","properties":{"product_id":"507f1f77","sku":"G-32","category":"Games",
			"name":"Monopoly",
			"variant":"200 pieces","price":18.99,"quantity":1,"coupon":"MAYDEALS","currency":"usd","position":3,"value":18.99}}`,
			`{"event":"PRODUCT_VIEW","payload":{"items":[{"item_id":"507f1f77","item_quantity":1,"sku":"G-32","price":18.99}],` +
				`"product_id":"507f1f77","sku":"G-32","category":"Games","name":"Monopoly",` +
				`"variant":"200 pieces","price":18.99,"quantity":1,"coupon":"MAYDEALS",` +
				`"currency":"usd","position":3,"value":18.99}}`},
		{"Product Added", Track, `{"event":"Product Added","properties":{"cart_id":"skdjsidjsdkdj29j","product_id":507,"quantity":"2"}}`,
			`{"event":"ADD_TO_CART","payload":{"items":[{"item_id":"507","item_quantity":2}],"product_id":507,"quantity":"2"},` +
				`"identity":{"cart_token":"skdjsidjsdkdj29j"}}`},
		{"Checkout Started", Track, `{"event":"Checkout Started","properties":{"order_id":"50314b","value":30,
			"products":[{"product_id":"507","quantity":1}]}}`,
			`{"event":"INITIATE_CHECKOUT","payload":{"items":[{"item_id":"507","item_quantity":1}],"order_id":"50314b","value":30}}`},
		{"Order Completed", Track, `{"event":"Order Completed","userId":"u-1","properties":{"checkout_id":"fksdjfsdjfisjf9sdfjsd9f",
			"cart_id":"other","order_id":"50314b8e","total":27.5,
			"products":[{"product_id":"507","sku":"45-G","price":19,"quantity":1},{"sku":"46","quantity":2}]}}`,
			`{"event":"CHECKOUT_COMPLETED","payload":{"items":[{"item_id":"507","item_quantity":1,"sku":"45-G","price":19},{"item_id":"46",` +
				`"item_quantity":2}],"order_id":"50314b8e","total":27.5},"identity":{"customer_id":"u-1","cart_token":"fksdjfsdjfisjf9sdfjsd9f"}}`},
		{"a shopper named by properties", Track, `{"event":"Signed Up","properties":{"email":"ana@example.com",
			"phone":5511912345678,"plan":"x"}}`,
			`{"event":"SIGNED_UP","payload":{"plan":"x"},"identity":{"email":"ana@example.com","phone":"5511912345678"}}`},
		{"context's traits count before properties", Track, `{"event":"Invite Sent","properties":{"email":"friend@example.com"},
			"context":{"traits":{"email":"ana@example.com"}}}`, `{"event":"INVITE_SENT","identity":{"email":"ana@example.com"}}`},
		{"other types are absent", Track, `{"event":"X","userId":{},"anonymousId":1.5,"properties":[],"traits":"t",
			"context":{"page":7,"locale":{},"library":"lib","campaign":[1],"screen":{"width":1}},
			"integrations":{"All":true},"messageId":null}`, `{"event":"X"}`},
		{"nobody's id", Track, `{"event":"X","anonymousId":"undefined","userId":"null"}`, `{"event":"X"}`},
		{"originalTimestamp", Track, `{"event":"X","timestamp":null,"originalTimestamp":"2026-03-15T11:59:00+0000"}`, `{"event":"X"}`},
	} {
		in := f.in
		if !strings.Contains(in, "originalTimestamp") {
			in = strings.Replace(in, "{", "{"+at, 1)
		}
		items := eventsOf(t, f.call, in, wire.TrustKey)
		if len(items) != 1 || items[0].Err != nil {
			t.Errorf("%s: %+v", f.what, items)
			continue
		}
		got := string(core.AppendEvent(nil, &items[0].Event))
		if want := strings.Replace(got, stamp, "", 1); want == got || want != f.want {
			t.Errorf("%s:\n got %s\nwant %s", f.what, got, f.want)
		}
	}
}

func TestNamesOfEvents(t *testing.T) {
	t.Parallel()
	f := func(in, want string) {
		t.Helper()
		items := eventsOf(t, Track, `{"event":`+string(core.AppendString(nil, in))+`,"properties":{"products":[{"sku":"1"}]}}`, wire.TrustOpen)
		got := items[0].Event.Name
		if items[0].Err != nil {
			got = string(items[0].Err.Code)
		}
		if got != want {
			t.Errorf("%q is %s, want %s", in, got, want)
		}
	}
	f("Produto Visualizado — até já", "PRODUTO_VISUALIZADO_ATE_JA")
	f("  product   viewed ", core.ProductView)
	f("order completed", core.CheckoutCompleted)
	f("PURCHASE", core.CheckoutCompleted)
	f("Product Clicked", "PRODUCT_CLICKED")
	f("2FA Enabled", "EVENT_2FA_ENABLED")
	f("LINK_CLICK", "LINK_CLICKED")
	f("link click", "LINK_CLICKED")
	f(strings.Repeat("a b ", 40), strings.TrimSuffix(strings.Repeat("A_B_", 16), "_"))
	f("Товар", "invalid_event_name")
	f("__", "invalid_event_name")
	f("", "invalid_event_name")
	for _, name := range core.Names() {
		want, _ := core.CanonicalName(name)
		f(name, want)
	}
}

// A message that is sent again must be the same event, and nobody else's.
func TestTheIDOfAnEvent(t *testing.T) {
	t.Parallel()
	idOf := func(from Source, body string) string {
		t.Helper()
		r, v := Read(Batch, body)
		if v != nil {
			t.Fatal(v)
		}
		batch, v := core.ParseBatch(r.Events(from).Body, from.CompanyID, core.Options{Now: from.Now})
		if v != nil || batch.Items[0].Err != nil {
			t.Fatalf("%s: %v %v", body, v, batch.Items)
		}
		return batch.Items[0].Event.ID
	}
	message := func(id, at, more string) string {
		return fmt.Sprintf(`{"batch":[{"type":"track","event":"X","messageId":%q%s%s}]}`, id, at, more)
	}
	const at = `,"timestamp":"2026-03-15T11:00:00.123Z"`
	from := Source{"c_1", wire.TrustOpen, now}
	id := idOf(from, message("m-1", at, ""))
	if !core.ValidUUIDv7(id) || core.UUIDv7Time(id) != now-60*60*1000+123 {
		t.Fatalf("%s is no UUIDv7 of the event's time", id)
	}
	later := Source{"c_1", wire.TrustOpen, now + 3*24*60*60*1000}
	if again := idOf(later, message("m-1", at, `,"userId":"u","sentAt":"2026-03-18T11:00:00Z"`)); again != id {
		t.Errorf("sent again it is %s, was %s", again, id)
	}
	seen := []string{id}
	other := func(what, id string) {
		t.Helper()
		if slices.Contains(seen, id) || id == "" {
			t.Errorf("%s: %q is not new", what, id)
		}
		seen = append(seen, id)
	}
	other("another message", idOf(from, message("m-2", at, "")))
	other("another company", idOf(Source{"c_2", wire.TrustOpen, now}, message("m-1", at, "")))
	other("another trust", idOf(Source{"c_1", wire.TrustKey, now}, message("m-1", at, "")))
	other("a company whose id ends as the trust begins", idOf(Source{"c_1o", "pen", now}, message("m-1", at, "")))
	other("another time", idOf(from, message("m-1", `,"timestamp":"2026-03-15T11:00:00.124Z"`, "")))
	noon := idOf(from, message("m-1", "", ""))
	other("without a time", noon)
	if evening := idOf(Source{"c_1", wire.TrustOpen, now + 6*60*60*1000}, message("m-1", "", "")); evening != noon {
		t.Errorf("without a time it is %s in the evening, was %s", evening, noon)
	}
	if id := idOf(from, message("", at, "")); id != "" {
		t.Errorf("without a messageId it is %s", id)
	}
}

// An anonymousId is no proof, in whatever form it comes.
func TestAnAnonymousIDIsNoUUID(t *testing.T) {
	t.Parallel()
	const id = "0b6f5d2e-4c1a-4e9f-8a3b-9d1c2e4f6a7b"
	for _, anonymous := range []string{id, strings.ToUpper(id), " " + id + " ", id + ".1aaaaaaaaaaaa", "a"} {
		items := eventsOf(t, Track, `{"event":"X","anonymousId":"`+anonymous+`"}`, wire.TrustOpen)
		if got, want := items[0].Event.VisitorID, "segment:"+strings.TrimSpace(anonymous); got != want {
			t.Errorf("%q is the visitor %q, want %q", anonymous, got, want)
		}
	}
}

func TestWhatIsNoEventSaysWhy(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`[`, 40) + strings.Repeat(`]`, 40)
	large := `"` + strings.Repeat("x", core.MaxEventBytes) + `"`
	traits := make([]string, 10_000)
	for i := range traits {
		traits[i] = fmt.Sprintf(`"t%d":%d`, i, i)
	}
	const good = `{"type":"track","event":"X","userId":"u-1"}`
	for _, f := range []struct {
		message string
		code    core.Code
	}{
		{`7`, core.CodeInvalidEvent},
		{`["r1","019cf15e-1200-7000-8000-000000000001",1773576000000,"PAGE_VIEW",null,null,{}]`, core.CodeInvalidEvent}, // our own envelope
		{`{"event":"X"}`, core.CodeInvalidEvent},
		{`{"type":"batch","batch":[]}`, core.CodeInvalidEvent},
		{`{"type":"track"}`, core.CodeInvalidEventName},
		{`{"type":"track","event":7}`, core.CodeInvalidEventName},
		{`{"type":"track","event":"X","timestamp":"yesterday","messageId":"m"}`, core.CodeInvalidTimestamp},
		{`{"type":"track","event":"X","timestamp":"2300-01-01T00:00:00Z","messageId":"m"}`, core.CodeInvalidTimestamp},
		{`{"type":"track","event":"X","timestamp":"-0001-01-01T00:00:00Z"}`, core.CodeInvalidTimestamp},
		{`{"type":"track","event":"Order Completed","properties":{"total":1}}`, core.CodeItemsRequired},
		{`{"type":"track","event":"X","properties":{"a":` + deep + `}}`, core.CodeTooDeep},
		{`{"type":"track","event":"X","properties":{"a":1e400}}`, core.CodeNumberOutOfRange},
		{`{"type":"track","event":"X","properties":{"a":}}`, core.CodeInvalidJSON},
		{`{"type":"track","event":"X","properties":{"a":` + large + `}}`, core.CodeEventTooLarge},
		{`{"type":"identify","traits":{` + strings.Join(traits, ",") + `}}`, core.CodeEventTooLarge},
		{`{"type":"identify","traits":{` + strings.Join(traits[:2500], ",") + `}}`, ""},
		{`{"type":"track","event":"X","anonymousId":"` + strings.Repeat("x", 125) + `"}`, core.CodeInvalidField},
		{`{"type":"track","event":"X","traits":{"email":"` + strings.Repeat("x", 400) + `"}}`, core.CodeInvalidIdentity},
	} {
		items := eventsOf(t, Batch, `{"batch":[`+good+`,`+f.message+`,`+good+`]}`, wire.TrustOpen)
		code := core.Code("")
		if v := items[1].Err; v != nil {
			code = v.Code
		}
		if code != f.code || items[0].Err != nil || items[2].Err != nil {
			t.Errorf("%.80s: %s, want %s; beside it %v %v", f.message, code, f.code, items[0].Err, items[2].Err)
		}
	}
}

func TestWhatIsNoRequestSaysWhy(t *testing.T) {
	t.Parallel()
	many := strings.TrimSuffix(strings.Repeat("1,", core.MaxBatchEvents+1), ",")
	for _, f := range []struct {
		call Call
		body string
		code core.Code
	}{
		{Batch, ``, core.CodeInvalidJSON},
		{Batch, `[]`, core.CodeInvalidJSON},
		{Batch, `{"batch":[{}`, core.CodeInvalidJSON},
		{Batch, `{"batch":[{}]} x`, core.CodeInvalidJSON},
		{Batch, `{"batch":[{},]}`, core.CodeInvalidJSON},
		{Batch, strings.Repeat(`{"a":`, 100_000), core.CodeInvalidJSON},
		{Batch, `{"batch":` + strings.Repeat(`[`, 100_000), core.CodeInvalidJSON},
		{Batch, `{}`, core.CodeNoEvents},
		{Batch, `{"batch":{}}`, core.CodeNoEvents},
		{Batch, `{"batch":[]}`, core.CodeNoEvents},
		{Batch, `{"batch":[` + many + `]}`, core.CodeTooManyEvents},
		{Track, `"X"`, core.CodeInvalidJSON},
		{Track, `{"event":"X"`, core.CodeInvalidJSON},
	} {
		if _, v := Read(f.call, f.body); v == nil || v.Code != f.code {
			t.Errorf("%s %.40s: %v, want %s", f.call, f.body, v, f.code)
		}
	}
}

// Clients that keep a batch until it is taken may send an old sentAt: of a server nothing is corrected by it.
func TestOnlyWithoutAnAPIKeyTheClockIsCorrected(t *testing.T) {
	t.Parallel()
	f := func(sentAt string, trust wire.Trust, want int64) {
		t.Helper()
		for call, body := range map[Call]string{
			Batch: `{"writeKey":" k ","sentAt":` + sentAt + `,"batch":[{"type":"page"}]}`, Page: `{"writeKey":"k","sentAt":` + sentAt + `}`,
		} {
			r, v := Read(call, body)
			if v != nil || r.WriteKey != "k" {
				t.Fatalf("%s: %v, key %q", body, v, r.WriteKey)
			}
			batch, v := core.ParseBatch(r.Events(Source{"c_1", trust, now}).Body, "c_1", core.Options{Now: now})
			if v != nil || batch.SentAt != want {
				t.Errorf("%s %s: %v, sent at %d, want %d", call, sentAt, v, batch.SentAt, want)
			}
		}
	}
	f(`"2026-03-15T11:00:00.000Z"`, wire.TrustOpen, now-60*60*1000)
	f(`1773576000000`, wire.TrustOpen, now)
	f(`"2026-03-15T11:00:00.000Z"`, wire.TrustKey, 0)
	f(`"2026-03-15T11:00:00.000Z"`, wire.TrustImport, 0)
	f(`"yesterday"`, wire.TrustOpen, 0)
	f(`{}`, wire.TrustOpen, 0)
}
