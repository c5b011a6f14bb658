package sdkjs_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/sdk/core"
	"github.com/tributary-io/tributary/test/devtest"
)

// packages puts the npm packages where Node finds them, into a directory of the test's own.
func packages(t *testing.T) (dir string) {
	t.Helper()
	from, err := built()
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// node runs a script in a directory and returns what it prints.
func node(t *testing.T, dir string, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "node", arguments...)
	command.Dir = dir
	var out, wrong bytes.Buffer
	command.Stdout, command.Stderr = &out, &wrong
	if err := command.Run(); err != nil {
		t.Fatalf("node: %v\n%s%s", err, out.String(), wrong.String())
	}
	return strings.TrimSpace(out.String())
}

func TestTheServersClientInNode(t *testing.T) {
	devtest.NeedsIntegration(t)
	dir := packages(t)
	e := newEdge(t, filepath.Join(dir, "dist"))
	const use = `
		const client = new Client({ companyId: "loja", endpoint: ENDPOINT + "/t", core: CORE });
		client.identify({ email: "ana@example.com" });
		client.track("purchase", { items: [{ item_id: "tee", quantity: 2 }] }, { cart_token: "c-1" },
			{ context: { visitorId: "v-1", url: "https://loja.example.com/" } });
		client.track(NAME);
		client.close().then((done) => console.log(done, client.track("LATE")));`
	f := func(name, imports, core string, canonical bool, arguments ...string) {
		t.Helper()
		script := imports + strings.NewReplacer("ENDPOINT", `"`+e.URL+`"`, "CORE", core, "NAME", `"`+name+`"`).Replace(use)
		if got := node(t, dir, append(arguments, "-e", script)...); got != "true undefined" {
			t.Errorf("%s: prints %q", name, got)
		}
		note := e.seen().named(name)
		if note == nil {
			t.Fatalf("%s did not arrive", name)
		}
		if note.raw == canonical || note.Identity.Email != "ana@example.com" {
			t.Errorf("%s: raw %t, %+v", name, note.raw, note.Event)
		}
	}
	f("ESM", `import { Client } from "@tributary-io/sdk/server"; import { load } from "@tributary-io/core-wasm";`, "load()", true,
		"--input-type=module")
	f("CJS", `const { Client } = require("@tributary-io/sdk/server"); const { load } = require("@tributary-io/core-wasm");`, "load()", true)
	f("WITHOUT_CORE", `const { Client } = require("@tributary-io/sdk/server");`, "undefined", false)
	f("NO_GLOBALS", `
		const kept = { fetch, crypto, setTimeout, clearTimeout }; // of a host that has nothing when the package is imported
		for (const name of ["fetch", "crypto", "setTimeout", "clearTimeout", "process", "window"]) try { delete globalThis[name] } catch {}
		const { Client } = require("@tributary-io/sdk/server"); require("@tributary-io/sdk");
		Object.assign(globalThis, { setTimeout: kept.setTimeout, clearTimeout: kept.clearTimeout, fetch: kept.fetch });
		Object.defineProperty(globalThis, "crypto", { value: kept.crypto, configurable: true });`, "undefined", false)
	sale := e.seen().named(core.CheckoutCompleted)
	if sale == nil || sale.VisitorID != "v-1" || sale.Identity.CartToken != "c-1" ||
		sale.Payload != `{"items":[{"item_id":"tee","item_quantity":2}]}` {
		t.Errorf("sale %+v", sale)
	}

	// In a worker thread.
	got := node(t, dir, "-e", `new (require("node:worker_threads").Worker)(`+"`"+`
		const { Client } = require("@tributary-io/sdk/server");
		const client = new Client({ companyId: "loja", endpoint: "`+e.URL+`/t", core: require("@tributary-io/core-wasm").load() });
		client.track("THREAD");
		client.close().then(console.log)`+"`"+`, { eval: true })`)
	if got != "true" || e.seen().named("THREAD") == nil {
		t.Errorf("in a worker thread: %q", got)
	}

	// Where it is not supported that is said at once. A host without a page has no version.
	got = node(t, dir, "-e", `
		Object.defineProperty(process.versions, "node", { value: "18.20.8" });
		try { require("@tributary-io/sdk/server"); } catch (e) { console.log(e.message); }
		require("@tributary-io/sdk"); // of pages: rendering on a server goes on`)
	if got != "@tributary-io/sdk needs Node 20 or later, not 18.20.8" {
		t.Errorf("in Node 18: %q", got)
	}
	got = node(t, dir, "-e", `
		Object.defineProperty(globalThis, "crypto", { value: undefined, configurable: true });
		const { Client } = require("@tributary-io/sdk/server");
		const client = new Client({ companyId: "loja", endpoint: "`+e.URL+`/t" });
		console.log(client.track("NO_CRYPTO") != client.track("NO_CRYPTO_TWO"));
		client.close().then(console.log)`)
	if got != "true\ntrue" || e.seen().named("NO_CRYPTO_TWO") == nil {
		t.Errorf("without crypto: %q", got)
	}

	// A refusal is said, and an outage is not an error.
	e.answer(http.StatusUnauthorized)
	got = node(t, dir, "-e", `
		const { Client } = require("@tributary-io/sdk/server");
		const said = [];
		const client = new Client({ companyId: "loja", endpoint: "`+e.URL+`/t", onError: (e) => said.push(e.code) });
		client.track("REFUSED");
		client.flush().then((done) => console.log(done, said.join()))`)
	if got != "false unknown_company" {
		t.Errorf("a refusal: %q", got)
	}
	e.answer(http.StatusServiceUnavailable)
	got = node(t, dir, "-e", `
		const { Client } = require("@tributary-io/sdk/server");
		const client = new Client({ companyId: "loja", endpoint: "`+e.URL+`/t" });
		client.track("OUTAGE");
		client.flush().then((done) => console.log(done))`) // the process ends: an outage keeps none alive
	if got != "false" {
		t.Errorf("an outage: %q", got)
	}
}

// TestWhatTheServersClientGivesUpIsTold: with the next batch, the same at each attempt, and
// once. What is refused for the client's settings is kept.
func TestWhatTheServersClientGivesUpIsTold(t *testing.T) {
	devtest.NeedsIntegration(t)
	got := node(t, packages(t), "-e", `
		const { Client } = require("@tributary-io/sdk/server");
		const sent = [], said = [], answers = [];
		const refused = (status, code) => ({ status, body: JSON.stringify({ error: { code } }) });
		const old = "0190a5c0-0000-7000-8000-000000000001", stored = new Map([
			["trb:loja:" + old, JSON.stringify(["r1", old, "2024-07-12T00:00:00.000Z", "OLD", null, null, {}])], ["trb:loja:broken", "{"]]);
		const client = new Client({
			companyId: "loja", endpoint: "http://edge.test", maxEvents: 3, linger: 1e9, onError: (e) => said.push(e.code),
			before_send: (e) => e.event != "HIDDEN" && e,
			storage: { get: (k) => stored.get(k),
				set: (k, v) => void stored.set(k, v), remove: (k) => void stored.delete(k), keys: () => [...stored.keys()] },
			transport: async (url, body) => {
				const b = JSON.parse(body), answer = answers.shift();
				sent.push([b.dropped || null, b.events.map((e) => e[6].seq)]);
				return answer || { status: 200, body: JSON.stringify({ results: b.events.map((e) => ({ eventId: e[1], status: "ok" })) }) };
			},
		});
		(async () => {
			await client.flush(); // what was stored is read
			answers.push({ status: 503, body: "" });
			client.track("HIDDEN");
			for (let i = 0; i < 5; i++) client.track("NOTE");
			await client.flush();
			await client.flush();
			answers.push(refused(401, "unauthorized"));
			client.track("NOTE");
			console.log(await client.flush(), stored.size);
			answers.push(refused(400, "invalid_json"));
			await client.flush();
			client.track("NOTE");
			console.log(await client.close(), stored.size, said.join());
			console.log(JSON.stringify(sent));
		})()`)
	want := strings.Join([]string{
		"false 1", "false 0 full,no_answer,unauthorized,invalid_json",
		`[[{"expired":1,"queue_full":2,"unreadable":1},[1,2,3]],[{"expired":1,"queue_full":2,"unreadable":1},[1,2,3]],[null,[6]],[null,[6]],` +
			`[{"refused":1},[7]]]`,
	}, "\n")
	if !sameDropped(got, want) {
		t.Errorf("prints\n%s\nwant\n%s", got, want)
	}
}

// sameDropped compares texts, whatever the order of an object's members is.
func sameDropped(got, want string) bool {
	sorted := func(text string) string {
		letters := strings.Split(text, "")
		slices.Sort(letters)
		return strings.Join(letters, "")
	}
	return len(got) == len(want) && sorted(got) == sorted(want)
}

// A refused key may be replaced: what waits is kept, and goes with the next one.
func TestARotatedKeyLosesNothing(t *testing.T) {
	devtest.NeedsIntegration(t)
	dir := packages(t)
	e := newEdge(t, filepath.Join(dir, "dist"))
	e.needs("new")
	got := node(t, dir, "-e", `
		const { Client } = require("@tributary-io/sdk/server");
		const said = [];
		let key = "old";
		const client = new Client({ companyId: "loja", endpoint: "`+e.URL+`/t", apiKey: () => key, maxEvents: 3,
			onError: (e) => said.push(e.code) });
		(async () => {
			for (const name of ["ONE", "TWO", "THREE", "FOUR"]) client.track(name); // the fourth is not taken
			const refused = await client.flush();
			key = "new";
			console.log(refused, await client.close(), said.join());
		})()`)
	if got != "false false full,unauthorized" || names(e.seen().events) != "ONE TWO THREE" {
		t.Errorf("prints %q, events %s", got, names(e.seen().events))
	}
	// A key that stays wrong keeps no process alive.
	if got := node(t, dir, "-e", `
		const { Client } = require("@tributary-io/sdk/server");
		const client = new Client({ companyId: "loja", endpoint: "`+e.URL+`/t", apiKey: "old", onError: (e) => console.log(e.code) });
		client.track("ONE")`); got != "unauthorized" {
		t.Errorf("prints %q", got)
	}
}

// hostScript is a host without a page, as a sandbox for a shop's pixels: it dies at a random
// moment, and its storage and transport are asynchronous. What it was told to store is stored.
const hostScript = `
const { Client } = require("@tributary-io/sdk/server");
let state = 20261122;
const random = () => ((state = (Math.imul(state, 1103515245) + 12345) >>> 0) / 2 ** 32);
const stored = new Map(), arrived = new Map();
const turn = () => new Promise((done) => setImmediate(done));
const later = async (life, n) => { for (let i = 0; i < n; i++) { await turn(); if (life.dead) await new Promise(() => {}); } };
function host(life) {
  return {
    companyId: "loja", endpoint: "http://edge.test", linger: 0,
      onError: (e) => { if (e.code != "no_answer") { console.error(e); process.exit(1) } },
    storage: {
      get: async (key) => (await later(life, random() * 3), stored.get(key)),
      set: async (key, value) => { stored.set(key, value); await later(life, random() * 3) }, // a message that is sent arrives
      remove: async (key) => { stored.delete(key); await later(life, 1) },
      keys: async () => (await later(life, random() * 3), [...stored.keys()]),
    },
    transport: async (url, body) => {
      await later(life, random() * 4);
      if (random() < 0.2) throw new Error("no network");
      const { events } = JSON.parse(body);
      const results = events.map((raw) => {
        const [, eventId, , name] = raw;
        arrived.set(eventId, { name, times: (arrived.get(eventId)?.times || 0) + 1 });
        return { eventId, status: "ok" };
      });
      await later(life, random() * 4);
      return { status: 200, body: JSON.stringify({ results }) };
    },
  };
}
(async () => {
  for (let visit = 0; visit < 200; visit++) {
    const life = { dead: false };
    const client = new Client(host(life));
    await later(life, random() * 4);
    client.track("VISIT_" + visit);
    await later(life, random() * 8);
    life.dead = true;
  }
  const client = new Client(host({ dead: false }));
  for (let i = 0; i < 100 && !(await client.flush()); i++);
  await client.close();
  const names = new Set([...arrived.values()].map((e) => e.name));
  let lost = 0;
  for (let visit = 0; visit < 200; visit++) if (!names.has("VISIT_" + visit)) lost++;
  let copies = 0;
  for (const e of arrived.values()) copies += e.times;
  console.log(JSON.stringify({ lost, left: stored.size, events: arrived.size, copies }));
  process.exit(0);
})();`

func TestAHostThatDiesAtRandomLosesNothing(t *testing.T) {
	devtest.NeedsIntegration(t)
	var saw struct{ Lost, Left, Events, Copies int }
	if err := json.Unmarshal([]byte(node(t, packages(t), "-e", hostScript)), &saw); err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", saw)
	if saw.Lost != 0 || saw.Left != 0 || saw.Events != 200 {
		t.Errorf("of 200 visits %d are lost, %d are still stored, %d arrived", saw.Lost, saw.Left, saw.Events)
	}
}
