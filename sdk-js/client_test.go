package sdkjs_test

import (
	"fmt"
	"net"
	"testing"

	"github.com/tributary-io/tributary/test/devtest"
)

// recorder is a client in Node whose requests are answered in the same process: sent has each batch, said what onError hears.
const recorder = `
	const { Client } = require("@tributary-io/sdk/server");
	const sent = [], said = [];
	const transport = async (url, body) => {
		const { events, dropped } = JSON.parse(body);
		sent.push(events);
		return { status: 200, body: JSON.stringify({ results: events.map((e) => ({ eventId: e[1], status: "ok" })) }) };
	};
	const make = (more) => new Client({ companyId: "loja", endpoint: "http://edge.test", linger: 1e9, transport, onError: (e) => said.push(e),
		...more });
	const codes = () => said.map((e) => [e.code, e.event, e.events].join(":")).join();
	const numbers = () => sent.flat().map((e) => e[3] + ":" + e[6].seq).join();
`

// A request handler that tracks never fails for it, and what was not taken leaves no gap in the numbers.
func TestTrackNeverThrowsInNode(t *testing.T) {
	devtest.NeedsIntegration(t)
	got := node(t, packages(t), "-e", recorder+`
		const cyclic = {}; cyclic.self = cyclic;
		const getter = { get items() { throw new Error("no items") } };
		const client = make();
		const ids = [
			client.track("CYCLIC", cyclic), client.track("BIG_INT", { n: 1n }), client.track("DATE", {}, null, { timestamp: new Date("x") }),
			client.track("GETTER", getter), client.track("TO_JSON", { toJSON() { throw Object.create(null) } }),
				client.track("WHO", {}, { get email() { throw 1 } }),
			client.track("CONTEXT", {}, null, { context: cyclic }), client.track("NULL", {}, null, null), client.track(), client.track(Symbol("s")),
			client.track({ toString() { throw 1 } }),
		];
		client.track("GOOD");
		const nested = make({ before_send: (e) => { if (e.event == "OUTER") { nested.track("INNER"); throw new Error("mine") } return e } });
		nested.track("OUTER");
		const nonsense = make({ before_send: () => "text" });
		const context = make({ context: () => { throw new Error("no request") } });
		const angry = make({ onError: () => { throw new Error("angry") } }),
			promised = make({ onError: async () => { throw new Error("later") } });
		ids.push(nonsense.track("TEXT"), context.track("HOST"), angry.track("ANGRY", cyclic), promised.track("PROMISED", cyclic));
		(async () => {
			await client.flush(), await nested.flush();
			client.track("AFTER"), nested.track("AFTER");
			console.log(ids.filter((id) => id !== undefined).length, await client.close(), await nested.close(), numbers());
			console.log(codes());
		})()`)
	want := "1 true true NULL:1,GOOD:2,INNER:1,AFTER:3,AFTER:2\n" +
		"invalid_event:CYCLIC:1,invalid_event:BIG_INT:1,invalid_event:DATE:1,invalid_event:GETTER:1,invalid_event:TO_JSON:1," +
		"invalid_event:WHO:1," +
		"invalid_event:CONTEXT:1,invalid_event::1,invalid_event::1,invalid_event::1,invalid_event:OUTER:1,invalid_event:TEXT:1," +
		"invalid_event:HOST:1"
	if got != want { // that extra is null is no fault: NULL is taken, as the first
		t.Errorf("prints\n%s\nwant\n%s", got, want)
	}
}

// The edge's bound of an event, by bytes, at the call: a large one takes no other along.
func TestALargeEventIsRefusedWhereItIsTracked(t *testing.T) {
	devtest.NeedsIntegration(t)
	got := node(t, packages(t), "-e", recorder+`
		const client = make();
		delete globalThis.encodeURI, delete globalThis.TextEncoder; // as in a strict sandbox
		const take = (name, text) => client.track(name, { text }) !== undefined;
		console.log(take("BIG", "x".repeat(2 << 20)), take("ABOVE", "x".repeat(32768)), take("WIDE", "é".repeat(16384)),
			take("BELOW", "x".repeat(32000)), take("WIDE_BELOW", "\u{1f600}".repeat(8000)));
		for (let i = 0; i < 40; i++) client.track("NOTE", { text: "漢".repeat(10500) });
		(async () => {
			console.log(await client.close(), sent.flat().length, sent.every((events) => Buffer.byteLength(JSON.stringify(events)) < 1 << 20),
				sent.flat().at(-1)[6].seq);
			console.log(codes(), said[0].message);
		})()`)
	want := "false false false true true\ntrue 42 true 42\nevent_too_large:BIG:1,event_too_large:ABOVE:1,event_too_large:WIDE:1 not taken: " +
		"BIG is larger than 32 KiB"
	if got != want {
		t.Errorf("prints\n%s\nwant\n%s", got, want)
	}
}

// A server that takes the connection and says nothing holds up neither close nor the end of the process.
func TestASilentServerHoldsNobodyUp(t *testing.T) {
	devtest.NeedsIntegration(t)
	dir := packages(t)
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan struct{})
	go func() {
		defer close(accepted)
		for {
			connection, err := silent.Accept()
			if err != nil {
				return
			}
			defer connection.Close()
		}
	}()
	t.Cleanup(func() {
		silent.Close()
		<-accepted
	})
	for what, options := range map[string][2]string{
		"a request's own time": {"timeout: 50", "{ timeout: 200 }"},
		"close's time":         {"timeout: 3600000", "{ timeout: 50 }"},
	} {
		got := node(t, dir, "-e", recorder+fmt.Sprintf(`
			const client = make({ endpoint: "http://%s", transport: undefined, %s });
			client.track("ONE"), client.track("TWO");
			client.close(%s).then((done) => console.log(done, codes()))`, silent.Addr(), options[0], options[1]))
		if got != map[string]string{"a request's own time": "false no_answer::,left::2", "close's time": "false left::2"}[what] {
			t.Errorf("%s: prints %q", what, got)
		}
	}
	// Neither does a transport or a key that never comes; and an answer that comes too late is no answer.
	got := node(t, dir, "-e", recorder+`
		(async () => {
			const late = make({ timeout: 20,
				transport: (url, body) => new Promise((done) => setTimeout(() => transport(url, body).then(done), 200)) });
			late.track("LATE");
			const never = make({ timeout: 20, transport: () => new Promise(() => {}) });
			never.track("NEVER");
			console.log(await late.close({ timeout: 100 }), await never.close({ timeout: 100 }), codes());
		})()`)
	if got != "false false no_answer::,left:LATE:1,no_answer::,left:NEVER:1" {
		t.Errorf("prints %q", got)
	}
}

// As the Go client does.
func TestAKeyGoesOnlyWhereNobodyCanReadIt(t *testing.T) {
	devtest.NeedsIntegration(t)
	got := node(t, packages(t), "-e", recorder+`
		const made = (endpoint, apiKey = "secret") => { try { make({ endpoint, apiKey }); return 1 } catch (e) { said.push(e); return 0 } };
		console.log(["http://10.0.0.1", "http://127.0.0.1.example.com", "http://localhost.example.com", "ftp://localhost",
			"edge.test"].map((e) => made(e)).join(),
			["https://edge.test/t", "http://127.0.0.1:7700", "http://localhost:7700/t", "http://[::1]:7700",
				"http://127.8.9.1"].map((e) => made(e)).join(),
			made("http://10.0.0.1", () => "secret"), made("http://10.0.0.1", ""));
		console.log(said.some((e) => e.message.includes("secret")), said[0].message)`)
	want := "0,0,0,0,0 1,1,1,1,1 0 1\nfalse tributary: apiKey needs an https endpoint or a loopback host: over http others could read the key"
	if got != want {
		t.Errorf("prints\n%s\nwant\n%s", got, want)
	}
}

// Many drops are one call, which says how many; of one event it says which.
func TestErrorsSayWhichEventsAndHowMany(t *testing.T) {
	devtest.NeedsIntegration(t)
	got := node(t, packages(t), "-e", recorder+`
		let answer;
		const client = make({ maxEvents: 3, transport: async (url, body) => answer ? answer(JSON.parse(body).events) : transport(url, body) });
		for (let i = 0; i < 500; i++) client.track("NOTE");
		(async () => {
			console.log(await client.flush());
			answer = (events) => ({ status: 200,
				body: JSON.stringify({ results: events.map((e) => ({ eventId: e[1], status: "rejected", code: "items_required",
					message: "no items" })) }) });
			const id = client.track("SALE");
			await client.flush();
			console.log(said.at(-1).eventId == id, said.at(-1).code);
			answer = () => ({ status: 400, body: '{"error":{"code":"invalid_json"}}' });
			client.track("A"), client.track("B");
			console.log(await client.close());
			client.track("LATE"), client.track("LATER");
			process.on("exit", () => console.log(codes())); // which waits for the client's timer
		})()`)
	want := "true\ntrue items_required\nfalse\nfull:NOTE:497,items_required:SALE:1,invalid_json::2,closed:LATE:2"
	if got != want {
		t.Errorf("prints\n%s\nwant\n%s", got, want)
	}
}

// A context may have the page as HTTP has it.
func TestAContextMayBeNested(t *testing.T) {
	devtest.NeedsIntegration(t)
	got := node(t, packages(t), "-e", recorder+`
		const client = make({ context: () => ({ page: { url: "https://a.example/", title: "A" }, locale: "pt-BR" }) });
		client.track("ONE");
		client.track("TWO", {}, null, { context: { url: "https://a.example/two", page: { title: "Two" } } });
		client.close().then(() => console.log(sent.flat().map((e) => [e[6].url, e[6].title, e[6].locale, e[6].page].join()).join(" ")))`)
	if want := "https://a.example/,A,pt-BR, https://a.example/two,Two,pt-BR,"; got != want {
		t.Errorf("prints %q", got)
	}
}

// The address of the edge may be given with its route; one that is no URL is refused at once, and not found out by sending.
func TestTheEndpointIsTheEdges(t *testing.T) {
	devtest.NeedsIntegration(t)
	got := node(t, packages(t), "-e", recorder+`
		const urls = [];
		const at = async (endpoint) => {
			const client = make({ endpoint, transport: (url, body) => (urls.push(url), transport(url, body)) });
			client.track("ONE");
			await client.close();
		};
		(async () => {
			for (const end of ["", "/", "/v1/events", "/v1/events/"]) await at("https://edge.test/t" + end);
			console.log([...new Set(urls)].join(), urls.length);
			for (const endpoint of ["collect.your-shop.com", "/t", "ftp://edge.test",
				"https://"]) try { make({ endpoint }) } catch (e) { console.log(e.name, e.message) }
		})()`)
	const wrong = "TypeError tributary: endpoint is an http or https URL, not "
	want := "https://edge.test/t/v1/events 4\n" + wrong + "collect.your-shop.com\n" + wrong + "/t\n" + wrong +
		"ftp://edge.test\n" + wrong + "https://"
	if got != want {
		t.Errorf("prints\n%s\nwant\n%s", got, want)
	}
}

// A fault that passes right at the end loses nothing: close tries again, after what the answer asks for, until its time is over.
func TestCloseTriesAgainUntilItsTimeIsOver(t *testing.T) {
	devtest.NeedsIntegration(t)
	got := node(t, packages(t), "-e", recorder+`
		const now = setTimeout, waits = [];
		globalThis.setTimeout = (f, ms) => (ms == 10000 || ms == 7e6 || ms == 1e9 || waits.push(ms), now(f, ms == 10000 || ms >= 7e6 ? ms : 0));
		const firsts = (...answers) => async (url, body) => {
			const a = answers.shift();
			if (a == "gone") throw new Error("reset");
			return a ? { body: "", ...a } : transport(url, body);
		};
		const end = async (first, before) => {
			const client = make({ transport: firsts(...first) });
			client.track("X");
			if (before) await client.flush(); // the event waits in back-off
			const events = sent.length, done = await client.close({ timeout: 7e6 });
			console.log(done, sent.length - events, waits.splice(0).filter((ms) => ms >= 5000).join());
		};
		(async () => {
			await end([{ status: 503 }]);
			await end([{ status: 403, body: "<html>" }, "gone", { status: 200, body: "{}" }]);
			await end([{ status: 429, retryAfter: "7" }, { status: 503, retryAfter: 9 }]);
			await end([{ status: 503, retryAfter: "600" }], true);
			await end(Array(40).fill({ status: 503 }));
			await end([{ status: 401, body: '{"error":{"code":"unauthorized"}}' }]);
			await end([{ status: 403, body: '{"error":{"code":"company_archived"}}' }]);
			const late = make({ transport: async () => ({ status: 503, body: "", retryAfter: 600 }) });
			late.track("LATE");
			globalThis.setTimeout = now;
			console.log(await late.close({ timeout: 50 }), await late.flush(), said.at(-1).code); // no flush is held up
		})()`)
	want := "true 1 \ntrue 1 \ntrue 1 7000,9000\ntrue 1 600000\ntrue 1 \nfalse 0 \nfalse 0 \nfalse false left"
	if got != want {
		t.Errorf("prints\n%s\nwant\n%s", got, want)
	}
}

// An edge that cannot be reached, or is out of order, is told of once, until it answers; what is at the other end of a redirect is named.
func TestAnEdgeThatCannotBeReachedIsTold(t *testing.T) {
	devtest.NeedsIntegration(t)
	got := node(t, packages(t), "-e", recorder+`
		const http = require("node:http");
		const listen = (answer) => new Promise((done) => {
			const s = http.createServer(answer).listen(0, "127.0.0.1", () => done([s, "http://127.0.0.1:" + s.address().port])) });
		const told = () => said.splice(0).map((e) => e.code + ": " + e.message).join("|");
		(async () => {
			const [gone, nowhere] = await listen();
			await new Promise((done) => gone.close(done));
			let healthy = false;
			const client = make({ endpoint: nowhere, transport: undefined }),
				flaky = make({ transport: (...a) => { if (healthy) return transport(...a); throw new Error("down") } });
			client.track("ONE");
			await client.flush(), await client.flush();
			console.log(told().replace(nowhere.slice(7), "HOST"));
			for (const up of [false, false, true, false]) flaky.track("ONE"), (healthy = up), await flaky.flush();
			console.log(told());
			let answer;
			const key = make({ transport: async () => answer || Promise.reject(new Error("down")) });
			key.track("ONE");
			for (answer of [0, { status: 401, body: '{"error":{"code":"unauthorized"}}' }, 0, 0]) await key.flush();
			console.log(said.splice(0).map((e) => e.code).join());
			const slow = make({ timeout: 20, transport: () => new Promise(() => {}) });
			slow.track("ONE"), await slow.flush();
			console.log(told());
			const busy = make({ transport: async () => ({ status: 503, body: "" }) });
			busy.track("ONE"), await busy.flush(), await busy.flush();
			console.log(told());
			const [other, there] = await listen((q, a) => a.writeHead(405).end());
			const [first, here] = await listen((q, a) => a.writeHead(301, { location: there + q.url }).end());
			const moved = make({ endpoint: here, transport: undefined });
			moved.track("ONE"), await moved.flush(), await moved.flush();
			console.log(told().replace(there, "THERE"));
		})().finally(() => process.exit())`)
	const lead = "no_answer: no answer, the events are sent again: "
	want := lead + "connect ECONNREFUSED HOST\n" + lead + "down|" + lead + "down\nno_answer,unauthorized,no_answer\n" + lead +
		"none within 20 ms\nno_answer: 503: the events are sent again\n" +
		"no_answer: 405 after a redirect to THERE/v1/events is no answer of the edge: something else is at its address. The events are kept " +
		"and sent again."
	if got != want {
		t.Errorf("prints\n%s\nwant\n%s", got, want)
	}
}

// As the Go client does. A key that comes from a function is not in what onError hears.
func TestAKeyIsOneThatAHeaderMayHave(t *testing.T) {
	devtest.NeedsIntegration(t)
	got := node(t, packages(t), "-e", recorder+`
		const made = (apiKey) => { try { make({ endpoint: "https://edge.test", apiKey }); return 1 } catch (e) { said.push(e); return 0 } };
		console.log(["trb_…", "trb secret", "secret\n", "secr\u00e9t"].map(made).join(), made("trb_secret~!"), said[0].message);
		const client = make({ endpoint: "http://127.0.0.1:1", transport: undefined, apiKey: () => "secret…" });
		client.track("ONE");
		client.flush().then(() => console.log(said.at(-1).code, said.at(-1).message, said.some((e) => e.message.includes("secret"))))`)
	const wrong = "apiKey has a space, a line break or a character outside ASCII"
	want := "0,0,0,0 1 tributary: " + wrong + "\nno_answer no answer, the events are sent again: tributary: " + wrong + " false"
	if got != want {
		t.Errorf("prints\n%s\nwant\n%s", got, want)
	}
}

// The edge's bound of a time: seconds are not milliseconds.
func TestATimeInSecondsIsRefusedWhereItIsTracked(t *testing.T) {
	devtest.NeedsIntegration(t)
	got := node(t, packages(t), "-e", recorder+`
		const client = make(), take = (timestamp) => client.track("ONE", {}, null, { timestamp }) !== undefined;
		console.log([1764000000, 99999999999, new Date(1764000000), null, 0, -1].map(take).join(), [100000000000, 1764000000000,
			new Date("2026-11-24"), undefined].map(take).join());
		console.log(codes().split(",").length, said[0].code, said[0].message);
		client.close()`)
	want := "false,false,false,false,false,false true,true,true,true\n6 invalid_event not taken: ONE: TypeError: timestamp is not in " +
		"milliseconds: 1764000000"
	if got != want {
		t.Errorf("prints\n%s\nwant\n%s", got, want)
	}
}

// Segment's identify(id, traits) and other texts are not spread into letters: what is no object is left out, with a word.
func TestWhatIsNoObjectIsLeftOut(t *testing.T) {
	devtest.NeedsIntegration(t)
	got := node(t, packages(t), "-e", recorder+`
		let of = {};
		const client = make({ context: () => of });
		client.identify({ email: "a@b.example" }), client.identify("c-42", { email: "x" }), client.identify(["c"]), client.identify(7),
			client.identify(null), client.identify();
		client.track("ONE"), client.track("TWO", {}, "c-42"), client.track("THREE", {}, null, { context: "text" }),
			client.track("FOUR", {}, {}, { context: { url: "u", page: "text" } });
		of = "text", client.track("FIVE");
		client.close().then(() => {
			console.log(sent.flat().map((e) => e[5] + Object.keys(e[6])).join(" "));
			console.log(said.map((e) => e.code + " " + e.message).join("|"));
		})`)
	const who, seen = `{"email":"a@b.example"}`, "stream,seq,library"
	const identity, context = "invalid_argument identity is no object: left out", "invalid_argument context is no object: left out"
	want := who + seen + " " + who + seen + " " + who + seen + " " + who + seen + ",url " + who + seen + "\n" +
		identity + "|" + identity + "|" + identity + "|" + identity + "|" + context +
		"|invalid_argument context.page is no object: left out|" + context
	if got != want {
		t.Errorf("prints\n%s\nwant\n%s", got, want)
	}
}
