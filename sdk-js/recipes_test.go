package sdkjs_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/go-rod/rod"

	"github.com/tributary-io/tributary/sdk/core"
	"github.com/tributary-io/tributary/test/devtest"
)

// recipe returns a block of docs/recipes.md as it stands: the nth in a language below a heading.
func recipe(t *testing.T, heading, language string, n int) string {
	t.Helper()
	return blockOf(t, "../docs/recipes.md", "## "+heading, language, n)
}

func blockOf(t *testing.T, page, heading, language string, n int) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n"+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(section, -1)
	if !found || len(blocks) <= n {
		t.Fatalf("%s, %s: %d blocks in %s, want more than %d", page, heading, len(blocks), language, n)
	}
	return blocks[n][1]
}

// of puts an edge and a company into a recipe.
func (e *edge) of(recipe string) string {
	return strings.NewReplacer("https://collect.your-shop.com", e.URL+"/t", "YOUR_COMPANY_ID", "loja").Replace(recipe)
}

// The recipes for shop systems, as docs/recipes.md shows them, in a page that has what the
// system documents.
func TestRecipesInChromium(t *testing.T) {
	t.Parallel()
	f := inChromium(t)
	f("Google Tag Manager", tagManager)
	f("Nuvemshop", nuvemshop)
	f("VTEX, the checkout's data layer", vtexLayer)
	f("VTEX, a pixel app", vtexMessage)
	f("WooCommerce", wooCommerce)
	f("Shopify, a custom pixel", shopifyCustom)
	f("Shopify, an app's pixel", shopifyApp)
}

// purchase waits for the one sale and checks its members.
func purchase(t *testing.T, e *edge, payload string, who core.Identity) *got {
	t.Helper()
	e.wait(t, "the sale", func(s seen) bool { return s.named(core.CheckoutCompleted) != nil })
	sale := e.seen().named(core.CheckoutCompleted)
	if sale.Payload != payload || sale.Identity != who {
		t.Errorf("the sale is %s of %+v, want %s of %+v", sale.Payload, sale.Identity, payload, who)
	}
	if n := e.seen().copies(core.CheckoutCompleted); n != 1 {
		t.Errorf("%d sales", n)
	}
	return sale
}

// scripts are the inline scripts of a piece of HTML.
func scripts(html string) (all []string) {
	for _, match := range regexp.MustCompile(`(?s)<script>(.*?)</script>`).FindAllStringSubmatch(html, -1) {
		all = append(all, match[1])
	}
	return all
}

// fiveOnly fails unless a script is ECMAScript 5: the compiler would have to change anything else.
func fiveOnly(t *testing.T, script string) {
	t.Helper()
	print := func(target api.Target) string {
		r := api.Transform(script, api.TransformOptions{Target: target})
		if len(r.Errors) > 0 {
			t.Fatalf("%v in\n%s", r.Errors[0].Text, script)
		}
		return string(r.Code)
	}
	if five, latest := print(api.ES5), print(api.ESNext); five != latest {
		t.Errorf("it is no ECMAScript 5:\n%s", latest)
	}
}

func TestWhatIsNoECMAScript5IsFound(t *testing.T) {
	for _, script := range []string{"f(`a${1}`)", "f(() => 1)", "f({ a })", "f(...a)", "a ||= 1", "a?.b"} {
		r := api.Transform(script, api.TransformOptions{Target: api.ES5})
		latest := api.Transform(script, api.TransformOptions{Target: api.ESNext})
		if len(r.Errors) == 0 && string(r.Code) == string(latest.Code) {
			t.Errorf("%s is taken for ECMAScript 5", script)
		}
	}
}

// inject puts a Custom HTML tag into a page as the Tag Manager does: it parses the HTML, and makes
// each script anew with its text alone.
const inject = `(html) => {
	const box = document.createElement("div");
	box.innerHTML = html;
	for (const found of box.querySelectorAll("script")) {
		const script = document.createElement("script");
		if (found.src) script.src = found.src;
		else script.text = found.text;
		found.remove();
		document.body.append(script);
	}
}`

func tagManager(t *testing.T, e *edge, b *rod.Browser) {
	tag := e.of(recipe(t, "Google Tag Manager", "html", 0))
	first := stub() + strings.Replace(tag, `companyId: "loja"`, `companyId: "loja", datalayer: true`, 1)
	for _, script := range scripts(first) {
		fiveOnly(t, script)
		if strings.Contains(script, "{{") {
			t.Errorf("the Tag Manager takes {{ for the beginning of a variable:\n%s", script)
		}
	}
	if strings.Contains(first, `<script async`) || !strings.Contains(first, "datalayer") {
		t.Errorf("the Tag Manager does not keep a tag's attributes: init says all\n%s", first)
	}
	s := shop(t, map[string]string{"/": `<body><script>window.dataLayer = [{"gtm.start": 1, event: "gtm.js"}, null]</script>`})
	page := open(t, b, s.URL+"/?utm_source=ana").MustWaitLoad()
	page.MustEval(inject, first)
	page.MustEval(`() => {
		dataLayer.push({event: "purchase",
			ecommerce: {transaction_id: "T-1", value: 99.8, currency: "BRL",
				items: [{item_id: "tee-m", item_name: "Tee", price: 49.9, quantity: 2}]}});
		dataLayer.push({event: "gtm.load"});
	}`)
	got := purchase(t, e, `{"items":[{"item_id":"tee-m","item_quantity":2,"item_name":"Tee","price":49.9}],"transaction_id":"T-1",`+
		`"value":99.8,"currency":"BRL"}`, core.Identity{})
	e.wait(t, "the view", func(s seen) bool { return s.named(core.PageView) != nil })
	if view := e.seen().named(core.PageView); view.Context.Campaign.Source != "ana" || view.VisitorID == "" ||
		view.VisitorID != got.VisitorID {
		t.Errorf("the view %s", view.text)
	}
	ready(t, page) // the second file comes from where the first came
}

func nuvemshop(t *testing.T, e *edge, b *rod.Browser) {
	// https://tiendanube.github.io/api-documentation/resources/script
	const ls = `<script>var LS = {store: {id: 7, url: "loja"}, cart: {subtotal: 9980, items: [{id: 331122, name: "Tee", unit_price: 4990, ` +
		`quantity: 2}]}, customer: 42, currency: "BRL", lang: "pt_BR"};`
	s := shop(t, map[string]string{
		"/checkout": e.stubbed(`tributary.init({companyId:"loja",linger:0})`) + ls + `</script>` + recipe(t, "Nuvemshop", "html", 0),
		"/success": e.stubbed(`tributary.init({companyId:"loja",linger:0})`) + ls +
			`LS.order = {id: 99, number: 12, total: 9980, hash: "4be1c07f39a85d2264f0b9ce7713aa58d60e92b4"}</script>` +
			recipe(t, "Nuvemshop", "html", 0),
	})
	page := open(t, b, s.URL+"/checkout")
	e.wait(t, "the checkout's view", func(s seen) bool { return s.named(core.PageView) != nil })
	page.MustNavigate(s.URL + "/success")
	if sale := purchase(t, e, `{"items":[{"item_id":"331122","item_quantity":2}]}`,
		core.Identity{CustomerID: "42", CartToken: "4be1c07f39a85d2"}); sale.Context.Page.Path != "/success" {
		t.Errorf("the sale is of %s", sale.Context.Page.Path)
	}
}

// placed is VTEX's event of an order; the layer's has an event, the message an eventName.
const placed = `orderGroup: "v1", transactionId: "v1", transactionProducts: [{id: "17", sku: "553", name: "Tee", price: 49.9, quantity: ` +
	`2}], visitorContactInfo: ["42", "ana@example.com", "Ana"]`

func vtexLayer(t *testing.T, e *edge, b *rod.Browser) {
	f := func(before, after string) string {
		return `<script>` + before + `</script>` + e.stubbed(`tributary.init({companyId:"loja",linger:0,pageViews:false})`) +
			recipe(t, "VTEX", "html", 0) + `<script>` + after + `</script>`
	}
	s := shop(t, map[string]string{
		"/later": f(`window.dataLayer = [{event: "pageView"}]`,
			`window.pushed = dataLayer.push({event: "other"}, {event: "orderPlaced", `+placed+`})`),
		"/already": f(`window.dataLayer = [null, {event: "orderPlaced", `+placed+`}]`, ``),
	})
	want := `{"items":[{"item_id":"553","item_quantity":2}]}`
	page := open(t, b, s.URL+"/later")
	purchase(t, e, want, core.Identity{Email: "ana@example.com"})
	if n := page.MustEval(`() => pushed`).Int(); n != 3 {
		t.Errorf("push returns %d, want 3", n)
	}
	open(t, b, s.URL+"/already")
	e.wait(t, "an order that was there", func(s seen) bool { return s.copies(core.CheckoutCompleted) == 2 })
}

func vtexMessage(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": e.stubbed(`tributary.init({companyId:"loja",linger:0,pageViews:false})`) + `<script>` +
		blockOf(t, "../docs/notes/recipes.md", "## A VTEX pixel app", "js", 0) + `
		postMessage("noise", "*"); postMessage(null, "*"); postMessage({eventName: "vtex:pageView"}, "*");
		postMessage({eventName: "vtex:orderPlaced", ` + placed + `}, "*")</script>`})
	page := b.MustPage("").Timeout(life)
	failOnErrors(t, page, false)
	page.MustNavigate(s.URL + "/")
	purchase(t, e, `{"items":[{"item_id":"553","item_quantity":2}]}`, core.Identity{})
}

// wooCommerce checks what the PHP prints: its values are put in by their places.
func wooCommerce(t *testing.T, e *edge, b *rod.Browser) {
	php := recipe(t, "WooCommerce", "php", 0)
	_, printed, _ := strings.Cut(php, "?>")
	printed, _, _ = strings.Cut(printed, "<?php\n")
	values := []string{`{"items":[{"item_id":"553","item_quantity":2}]}`, `{"email":"ana@example.com","phone":"+5511912345678"}`}
	echo := regexp.MustCompile(`<\?php echo wp_json_encode\( (\$\w+), JSON_HEX_TAG \); \?>`)
	var names []string
	printed = echo.ReplaceAllStringFunc(printed, func(at string) string {
		names = append(names, echo.FindStringSubmatch(at)[1])
		if len(names) > len(values) {
			return at
		}
		return values[len(names)-1]
	})
	if strings.Contains(printed, "<?") || strings.Join(names, " ") != "$payload $who" {
		t.Fatalf("it prints %v in\n%s", names, printed)
	}
	for _, name := range names {
		if !strings.Contains(php, name+" ") {
			t.Errorf("%s has no value", name)
		}
	}
	s := shop(t, map[string]string{"/": e.stubbed(`tributary.init({companyId:"loja",linger:0,pageViews:false})`) + printed})
	open(t, b, s.URL+"/")
	purchase(t, e, values[0], core.Identity{Email: "ana@example.com", Phone: "+5511912345678"})
}

// shopifyHost is the page around Shopify's sandboxes: it has the shop's cookie and storage, and
// hands out the order's event. What a sandbox asks for it asks by messages.
const shopifyHost = `<script>
	document.cookie = "trb_id=0199f3a0-0000-7000-8000-00000000000a";
	const calls = {
		cookie: (name) => (document.cookie.match("(^|; )" + name + "=([^;]+)") || [])[2] || "",
		getItem: (key) => localStorage.getItem(key),
		setItem: (key, value) => localStorage.setItem(key, value),
		removeItem: (key) => localStorage.removeItem(key),
		key: (n) => localStorage.key(n),
		length: () => localStorage.length,
	};
	addEventListener("message", ({data, source}) => {
		if (data.call) source.postMessage({answer: data.id, value: calls[data.call](...data.args)}, "*");
	});
	const sandbox = (html) => {
		const frame = document.createElement("iframe");
		frame.sandbox = "allow-scripts allow-forms";
		frame.srcdoc = html;
		document.body.append(frame);
	};
</script>`

// shopifyAPI is what a sandbox has: analytics, browser and init. port is how it reaches the host.
const shopifyAPI = `
	const asked = new Map();
	const ask = (call) => (...args) => new Promise((done) => { const id = "" + Math.random(); asked.set(id, done); PORT({call, id, args}) });
	const browser = {
		cookie: {get: ask("cookie")},
		localStorage: {getItem: ask("getItem"), setItem: ask("setItem"), removeItem: ask("removeItem"), key: ask("key"), length: ask("length")},
	};
	const context = {
		document: {location: {href: "https://www.your-shop.com/checkouts/1/thank_you"}, referrer: "https://www.your-shop.com/cart",
			title: "Obrigado"},
		navigator: {userAgent: "Mozilla/5.0 (X11; Linux x86_64) Chrome/150.0"}, window: {},
	};
	const init = {context, data: {}};
	const subscribed = [];
	const analytics = {subscribe: (name, f) => subscribed.push([name, f])};
	const hear = ({data}) => { if (data && data.answer) { asked.get(data.answer)(data.value); asked.delete(data.answer) } };
	const publish = () => subscribed.filter(([name]) => name == "checkout_completed").forEach(([, f]) => f({
		id: "sh-1", name: "checkout_completed", timestamp: "2026-03-15T12:00:00.000Z", clientId: "c", context,
		data: {checkout: {
			token: "c1-7f0e5b9a44d2e18f", email: "ana@example.com", phone: "+5511912345678", order: {id: "1"},
			shippingAddress: {firstName: "Ana", address1: "Rua das Flores 1"},
			lineItems: [{title: "Tee", quantity: 2, variant: {id: "45737128657113", sku: "tee-m", product: {id: "8950526378201"}}}],
		}},
	}));`

// soldByPixel checks the sale of a pixel: it names what was bought and by whom, and no more.
func soldByPixel(t *testing.T, e *edge) {
	t.Helper()
	sale := purchase(t, e, `{"items":[{"item_id":"45737128657113","item_quantity":2}]}`,
		core.Identity{Email: "ana@example.com", Phone: "+5511912345678", CartToken: "c1-7f0e5b9a44d2e18f"})
	if sale.VisitorID != "0199f3a0-0000-7000-8000-00000000000a" || sale.Context.Page.Path != "/checkouts/1/thank_you" ||
		sale.Context.Page.Referrer != "https://www.your-shop.com/cart" ||
		!strings.HasPrefix(sale.Context.UserAgent, "Mozilla/5.0") || strings.Contains(sale.text, "Flores") {
		t.Errorf("the sale %s", sale.text)
	}
	so := e.seen()
	if len(so.origins) == 0 || so.origins[0] != "null" {
		t.Errorf("origins %q: the docs say that a sandbox has none", so.origins)
	}
	if strings.Contains(strings.Join(so.cookies, ""), "+") {
		t.Error("a sandbox sends cookies")
	}
}

// A custom pixel is a script in a frame in a sandbox.
func shopifyCustom(t *testing.T, e *edge, b *rod.Browser) {
	pixel := e.of(recipe(t, "Shopify", "js", 0))
	frame := `<script>` + strings.Replace(shopifyAPI, "PORT({call, id, args})", `parent.postMessage({call, id, args}, "*")`, 1) +
		`addEventListener("message", hear);</script>
		<script>` + pixel + `</script><script>publish()</script>`
	s := shop(t, map[string]string{"/": `<body>` + shopifyHost + `<script>sandbox(` + quoted(frame) + `)</script>`})
	page := open(t, b, s.URL+"/")
	soldByPixel(t, e)
	until(t, page, noneStored)
}

// An app's pixel is bundled, and runs in a worker that has little more than timers and fetch.
func shopifyApp(t *testing.T, e *edge, b *rod.Browser) {
	dir := packages(t)
	stubbed := filepath.Join(dir, "node_modules", "@shopify", "web-pixels-extension")
	if err := os.MkdirAll(stubbed, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		filepath.Join(stubbed, "package.json"): `{"name": "@shopify/web-pixels-extension", "type": "module", "exports": "./index.js"}`,
		filepath.Join(stubbed, "index.js"):     `export const register = (f) => self.shopify.extend("WebPixel::Render", f);`,
		filepath.Join(dir, "pixel.js"):         e.of(blockOf(t, "../docs/notes/recipes.md", "## The pixel of a Shopify app", "js", 0)),
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := api.Build(api.BuildOptions{EntryPoints: []string{filepath.Join(dir, "pixel.js")}, Bundle: true,
		Format: api.FormatIIFE, Target: api.ES2020})
	if len(r.Errors) > 0 {
		t.Fatal(r.Errors[0].Text)
	}
	worker := strings.Replace(shopifyAPI, "PORT({call, id, args})", "self.postMessage({call, id, args})", 1) + `
		self.onmessage = hear;
		const kept = ["self", "console", "setTimeout", "setInterval", "clearTimeout", "clearInterval", "fetch", "postMessage", "onmessage",
			"globalThis"];
		const language = new RegExp("^(Object|Function|Array|String|Number|Boolean|Symbol|BigInt|Math|JSON|Promise|Map|Set|WeakMap|WeakSet|" +
			"RegExp|Date|Proxy|Reflect|Uint8Array|Infinity|NaN|undefined|parseInt|parseFloat|isNaN|\\w*Error|constructor)$");
		for (let of = self; of && of !== Object.prototype; of = Object.getPrototypeOf(of))
			for (const name of Object.getOwnPropertyNames(of))
				if (!kept.includes(name) && !language.test(name))
					try { delete of[name] } catch {}
		if (self.crypto || self.localStorage || self.indexedDB || self.navigator || self.URL) throw new Error("it is no strict sandbox");
		self.shopify = {extend: (_, f) => f({analytics, browser, init, settings: {}})};
	` + string(r.OutputFiles[0].Contents) + `
		publish();`
	// The worker is of a frame in a sandbox, which hands messages on.
	frame := `<script>
		const worker = new Worker(URL.createObjectURL(new Blob([` + quoted(worker) + `], {type: "text/javascript"})));
		worker.onerror = (e) => parent.postMessage({wrong: e.message}, "*");
		worker.onmessage = ({data}) => parent.postMessage(data, "*");
		addEventListener("message", ({data}) => worker.postMessage(data));
	</script>`
	s := shop(t, map[string]string{"/": `<body>` + shopifyHost + `<script>
		addEventListener("message", ({data}) => { if (data.wrong) document.title = data.wrong });
		sandbox(` + quoted(frame) + `)</script>`})
	page := open(t, b, s.URL+"/")
	soldByPixel(t, e)
	until(t, page, noneStored)
	if title := page.MustEval(`() => document.title`).Str(); title != "Loja /" {
		t.Errorf("the worker threw %s", title)
	}
}

// quoted is a text as a string in an inline script.
func quoted(text string) string {
	out, _ := json.Marshal(text) // a string can be written
	return string(out)
}

// The shops of testdata/web start as their recipes say.
func TestTheShopsOfFrameworksFollowTheirRecipes(t *testing.T) {
	f := func(heading, language, file string) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join("..", "testdata", "web", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		want := strings.NewReplacer(`"YOUR_COMPANY_ID"`, "import.meta.env.VITE_COMPANY", `"https://collect.your-shop.com"`,
			"import.meta.env.VITE_EDGE").Replace(recipe(t, heading, language, 0))
		if string(text) != want {
			t.Errorf("%s is\n%s\nwant\n%s", file, text, want)
		}
	}
	f("React", "jsx", "vite-react/src/main.jsx")
}

// The recipes of docs/sdk.md for backends, as they stand.
func TestTheBackendsRecipes(t *testing.T) {
	devtest.NeedsIntegration(t)
	dir := packages(t)
	e := newEdge(t, filepath.Join(dir, "dist"))
	e.needs("trb_live_x")
	script := filepath.Join(dir, "backend.mjs")
	if err := os.WriteFile(script, []byte(e.of(blockOf(t, "../docs/sdk.md", "## Recipes", "js", 0))), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TRIBUTARY_KEY", "trb_live_x")
	node(t, dir, script)
	sale := purchase(t, e, `{"items":[{"item_id":"tee-m","item_quantity":2}]}`, core.Identity{Email: "ana@example.com"})
	if sale.raw || sale.Context.Library.Name != "sdk-js" {
		t.Errorf("Node's sale %s", sale.text)
	}

	e = newEdge(t, dir)
	e.needs("trb_live_x")
	block := blockOf(t, "../docs/sdk.md", "## A Go backend", "go", 0)
	block, imports := strings.Replace(block, `import "github.com/tributary-io/tributary/sdk"`, "", 1), strings.Count(block, "import ")
	program := "package main\n\nimport (\n\t\"context\"\n\t\"log\"\n\t\"os\"\n\n\t\"github.com/tributary-io/tributary/sdk\"\n)\n\nfunc " +
		"main() {\n\tctx := context.Background()\n" +
		strings.Replace(e.of(block), "/var/lib/shop/tributary", filepath.Join(dir, "queue"), 1) +
		"\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n}\n"
	file := filepath.Join(dir, "main.go")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "run", file).CombinedOutput(); err != nil || imports != 1 {
		t.Fatalf("%v, %d imports: %s\n%s", err, imports, out, program)
	}
	if sale := purchase(t, e, `{"items":[{"item_id":"tee-m","item_quantity":2}]}`,
		core.Identity{Email: "ana@example.com", CartToken: "9f3b…"}); sale.Context.Library.Name != "sdk-go" {
		t.Errorf("Go's sale %s", sale.text)
	}
}
