package sdkjs_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-rod/rod"
)

func TestTheDataLayerInChromium(t *testing.T) {
	t.Parallel()
	f := inChromium(t)
	f("past and coming", dataLayerEvents)
	f("off", dataLayerOff)
	f("nothing in it does harm", dataLayerHarm)
	f("no array", dataLayerNoArray)
}

// taken are the events beside page views, with their payloads, in the order of their names.
func taken(s seen) (list []string) {
	for _, e := range s.events {
		if e.Name != "PAGE_VIEW" {
			list = append(list, e.Name+" "+e.Payload)
		}
	}
	slices.Sort(list)
	return list
}

// wantTaken waits for an event NOW, which is pushed last, and compares all.
func wantTaken(t *testing.T, e *edge, page *rod.Page, want ...string) {
	t.Helper()
	page.MustEval(`() => tributary.track("NOW")`)
	e.wait(t, "the last event", func(s seen) bool { return s.named("NOW") != nil })
	want = append(want, "NOW ")
	slices.Sort(want)
	if got := taken(e.seen()); !slices.Equal(got, want) {
		t.Errorf("taken\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// tags is a page with a data layer before the SDK.
func (e *edge) tags(before, attributes string) string {
	return stub() + `<script>window.dataLayer = window.dataLayer || []; function gtag() { dataLayer.push(arguments) }` + before + `</script>` +
		e.tag(`data-company="loja" data-linger="0" data-worker="false" `+attributes)
}

const shirt = `{item_id: "tee-m", item_name: "Tee", price: 49.9, quantity: 2}`

// The events are those of developers.google.com/analytics/devguides/collection/ga4/ecommerce.
func dataLayerEvents(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": e.tags(`
		gtag("js", new Date()); gtag("config", "G-1"); gtag("consent", "default", {ad_storage: "denied"});
		dataLayer.push({event: "gtm.js"}, {ecommerce: null}, null, 7, "purchase", undefined);
		dataLayer.push({event: "view_item", ecommerce: {currency: "BRL", value: 49.9, items: [`+shirt+`]}});
		gtag("event", "add_to_cart", {currency: "BRL", value: 99.8, items: [`+shirt+`], user_email: "ana@example.com"});`,
		`data-datalayer`)})
	page := open(t, b, s.URL+"/")
	ready(t, page)
	e.wait(t, "what was pushed before", func(s seen) bool { return s.named("ADD_TO_CART") != nil })
	if got := page.MustEval(`() => {
		const before = dataLayer.length, own = dataLayer, entry = {event: "begin_checkout", ecommerce: {items: [` + shirt + `]}};
		// Tag Manager comes later and puts its push before the one that it finds.
		const push = dataLayer.push;
		dataLayer.push = function () { window.through = (window.through || 0) + 1; return push.apply(dataLayer, arguments) };
		const answers = [dataLayer.push(entry, {event: "view_cart"}) - before, dataLayer.push(entry) - before];
		gtag("event", "search", {search_term: "camiseta"});
		for (const id of ["T-1", "T-1", "T-2"])
			gtag("event", "purchase", {transaction_id: id, value: 99.8, currency: "BRL", items: [` + shirt + `]});
		dataLayer.push({event: "purchase", ecommerce: {transaction_id: "T-2", items: [` + shirt + `]}});
		for (let i = 0; i < 2; i++) dataLayer.push({event: "remove_from_cart", ecommerce: {items: [` + shirt + `]}});
		dataLayer.push({event: "purchased"}, {event: "refund", ecommerce: {transaction_id: "T-1"}}, {event: "user_signup"});
		const sound = dataLayer === own && dataLayer[before] === entry && dataLayer[before + 2] === entry && Object.keys(entry).length == 2;
		return answers + " " + (dataLayer.length - before) + " " + through + " " + sound;
	}`).Str(); got != "2,3 13 10 true" {
		t.Errorf("the shop's array is not as it was: %s", got)
	}
	items := `"items":[{"item_id":"tee-m","item_quantity":2,"item_name":"Tee","price":49.9}]`
	bare := `"items":[{"item_id":"tee-m","item_name":"Tee","price":49.9,"quantity":2}]`
	sale := func(id string) string {
		return fmt.Sprintf(`CHECKOUT_COMPLETED {%s,"transaction_id":%q,"value":99.8,"currency":"BRL"}`, items, id)
	}
	wantTaken(t, e, page, `PRODUCT_VIEW {`+items+`,"value":49.9,"currency":"BRL"}`, `ADD_TO_CART {`+items+`,"value":99.8,"currency":"BRL"}`,
		`INITIATE_CHECKOUT {`+items+`}`, `VIEW_CART {}`, `SEARCH {"search_term":"camiseta"}`, sale("T-1"), sale("T-2"),
		`REMOVE_FROM_CART {`+bare+`}`, `REMOVE_FROM_CART {`+bare+`}`)
}

func dataLayerOff(t *testing.T, e *edge, b *rod.Browser) {
	before := `dataLayer.push({event: "view_item", ecommerce: {items: [` + shirt + `]}});`
	s := shop(t, map[string]string{"/": e.tags(before, ``), "/false": e.tags(before, `data-datalayer="false"`)})
	for _, path := range []string{"/", "/false"} {
		page := open(t, b, s.URL+path)
		ready(t, page)
		if page.MustEval(`() => Object.keys(dataLayer).includes("push")`).Bool() {
			t.Errorf("%s: the array has another push", path)
		}
		if path == "/false" {
			wantTaken(t, e, page)
		}
	}
}

// A shop's mistake in its data layer is not made worse, and the events after it are taken.
func dataLayerHarm(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": e.tags(`
		const no = () => { throw new Error("no") };
		tributary.init({before_send(event) {
			dataLayer.push({event: "view_cart", ecommerce: {value: 1}});
			return event;
		}});
		dataLayer.push({get event() { no() }}, {event: "view_item", get ecommerce() { no() }}, new Proxy({}, {get: no, has: no}),
			{event: "view_item", ecommerce: {get items() { no() }}}, {event: {toString: no}}, {event: "view_item", ecommerce: 7},
			Object.freeze({event: "add_to_cart", ecommerce: Object.freeze({items: Object.freeze([null, 7, {item_id: {}}, {item_id: "tee-m"}])})}));`,
		`data-datalayer`)})
	page := open(t, b, s.URL+"/")
	ready(t, page)
	page.MustEval(`() => {
		const huge = {event: "view_item", ecommerce: {value: 1, coupon: "x".repeat(1e6), other: "y".repeat(5e6),
			items: Array.from({length: 1e5}, (_, i) => ({item_id: "i" + i, item_name: "n".repeat(1000)}))}};
		huge.ecommerce.self = huge;
		dataLayer.push(huge);
		const items = []; items.slice = items.map = () => { throw new Error("no") };
		dataLayer.push({event: "view_cart", ecommerce: {items, value: NaN}});
	}`)
	e.wait(t, "the large one", func(s seen) bool { return s.copies("PRODUCT_VIEW") == 2 })
	page.MustEval(`() => tributary.track("NOW")`)
	e.wait(t, "the last event", func(s seen) bool { return s.named("NOW") != nil })
	got := taken(e.seen())
	cut := func(text string) string { return text[:min(len(text), 60)] }
	for i := range got {
		got[i] = cut(got[i])
	}
	want := []string{`ADD_TO_CART {"items":[{},{},{},{"item_id":"tee-m"}]}`, `NOW `,
		cut(`PRODUCT_VIEW {"items":[{"item_id":"i0","item_quantity":1,"item_name":"` + strings.Repeat("n", 128)),
		`PRODUCT_VIEW {}`, `VIEW_CART {"value":null,"items":[]}`}
	// what before_send pushes while a view or a call of the page's is taken comes too, and ends
	got = slices.DeleteFunc(got, func(text string) bool { return text == `VIEW_CART {"value":1}` })
	if !slices.Equal(got, want) {
		t.Errorf("taken\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := e.seen().copies("VIEW_CART"); n > 4 {
		t.Errorf("%d carts: what before_send pushes is taken again and again", n)
	}
}

// A page that has something else under that name, or an array that cannot be changed, goes on.
func dataLayerNoArray(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{
		"/text":   e.tags(`window.dataLayer = "text"`, `data-datalayer`),
		"/none":   e.tags(`delete window.dataLayer`, `data-datalayer`),
		"/frozen": e.tags(`dataLayer = Object.freeze([{event: "view_item"}])`, `data-datalayer`),
	})
	for path, script := range map[string]string{
		"/text": `() => dataLayer`, "/none": `() => { gtag("event", "view_cart"); return "text" }`, "/frozen": `() => "text"`,
	} {
		page := open(t, b, s.URL+path)
		ready(t, page)
		if got := page.MustEval(script).Str(); got != "text" {
			t.Errorf("%s: %q", path, got)
		}
		page.MustEval(`(name) => tributary.track(name)`, "AT_"+strings.ToUpper(path[1:]))
		e.wait(t, path, func(s seen) bool { return s.named("AT_"+strings.ToUpper(path[1:])) != nil })
	}
	if e.seen().copies("VIEW_CART") != 1 {
		t.Errorf("events %s", names(e.seen().events))
	}
}
