package sdkjs_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-rod/rod"

	collector "github.com/tributary-io/tributary/edge"
	"github.com/tributary-io/tributary/sdk/core"
	"github.com/tributary-io/tributary/test/devtest"
)

// What is not the edge answers once, and then the edge does.
func foreignAnswers() []int {
	return []int{200, 301, 302, 307, 400, 401, 403, 404, 405, 410, 413, 415, 451}
}

func TestForeignAnswersInChromium(t *testing.T) {
	t.Parallel()
	f := inChromium(t)
	for _, status := range foreignAnswers() {
		f(fmt.Sprintf("after one %d nothing is lost", status), foreignOnce(status))
	}
	f("a foreign answer that stays is asked rarely, and said once", foreignStays)
	f("a batch that is too large is halved, an event that is too large alone is given up with a word", tooLarge)
	f("a batch that the edge refuses takes no other along", refusedBatch)
}

func foreignOnce(status int) func(*testing.T, *edge, *rod.Browser) {
	return func(t *testing.T, e *edge, b *rod.Browser) {
		const init = `tributary.init({companyId:"loja",linger:0,pageViews:false,worker:false})`
		s := shop(t, map[string]string{"/": listen + e.stubbed(init), "/next": e.stubbed(init)})
		e.answersOnce(status)
		page := open(t, b, s.URL+"/")
		ready(t, page)
		page.MustEval(`() => tributary.track("ONE")`)
		e.wait(t, "the foreign answer", func(s seen) bool { return s.requests > 0 })
		page.MustEval(`() => tributary.track("HEALED")`)
		e.wait(t, "both", func(s seen) bool { return s.named("ONE") != nil && s.named("HEALED") != nil })
		until(t, page, noneStored)
		said := page.MustEval(`() => errors.join("|")`).Str()
		if word := strings.Contains(said, "is no answer of the edge"); word != (status != 307 && status != 413) || strings.Contains(said, "|") {
			t.Errorf("the console says %q", said)
		}
		page.MustNavigate(s.URL + "/next")
		ready(t, page)
		page.MustEval(`() => tributary.track("NEXT")`)
		e.wait(t, "the next page's", func(s seen) bool { return s.named("NEXT") != nil })
		if so := e.seen(); len(so.events) != 3 || len(so.dropped) != 0 {
			t.Errorf("events %s, dropped %v", names(so.events), so.dropped)
		}
	}
}

func foreignStays(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": listen +
		e.stubbed(`tributary.init({companyId:"loja",linger:0,pageViews:false,worker:false});tributary.track("ONE")`)})
	answers := make([]int, 6)
	for i := range answers {
		answers[i] = http.StatusForbidden
	}
	e.answersOnce(answers...)
	page := open(t, b, s.URL+"/")
	ready(t, page)
	for range 5 {
		if page.MustEval(`() => tributary.flush()`).Bool() {
			break
		}
	}
	e.wait(t, "the event", func(s seen) bool { return s.named("ONE") != nil })
	if said := page.MustEval(`() => errors.join("|")`).Str(); strings.Count(said, "403") != 1 || strings.Contains(said, "|") {
		t.Errorf("the console says %q", said)
	}
}

func tooLarge(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": listen + e.stubbed(`tributary.init({companyId:"loja",linger:3600000,pageViews:false,worker:false})`)})
	e.takesAtMost(6000)
	page := open(t, b, s.URL+"/")
	ready(t, page)
	page.MustEval(`async () => {
		tributary.track("BIG", {text: "x".repeat(8000)});
		for (let i = 0; i < 10; i++) tributary.track("NOTE");
		while (!(await tributary.flush()));
		tributary.track("LATER");
		await tributary.flush();
	}`)
	e.wait(t, "what comes after", func(s seen) bool { return s.named("LATER") != nil })
	so := e.seen()
	if so.copies("NOTE") != 10 || so.named("BIG") != nil || len(so.dropped) != 1 || so.dropped[0] != (core.Dropped{0, 1}) {
		t.Errorf("events %s, dropped %v", names(so.events), so.dropped)
	}
	if said := page.MustEval(`() => errors.join("|")`).Str(); said != "[tributary] dropped BIG: too large for what is before the edge (413)" {
		t.Errorf("the console says %q", said)
	}
}

func refusedBatch(t *testing.T, e *edge, b *rod.Browser) {
	s := shop(t, map[string]string{"/": listen + e.stubbed(`
		const real = fetch;
		window.bad = true;
		window.fetch = (url, options) => bad && /events$/.test(url) ?
			Promise.resolve(new Response('{"error":{"code":"invalid_json","message":"no"}}', {status: 400})) : real(url, options);
		tributary.init({companyId:"loja",linger:0,pageViews:false,worker:false});`)})
	page := open(t, b, s.URL+"/")
	ready(t, page)
	page.MustEval(`async () => { tributary.track("BAD"); await tributary.flush(); bad = false; tributary.track("GOOD") }`)
	e.wait(t, "what comes after", func(s seen) bool { return s.named("GOOD") != nil })
	if said := page.MustEval(`() => errors.join("|")`).Str(); said != "[tributary] refused: no (400 invalid_json)." {
		t.Errorf("the console says %q", said)
	}
}

// The same rule in the server's client.
func TestForeignAnswersInNode(t *testing.T) {
	devtest.NeedsIntegration(t)
	dir := packages(t)
	e := newEdge(t, filepath.Join(dir, "dist"))
	for _, status := range foreignAnswers() {
		e.answersOnce(status)
		got := node(t, dir, "-e", fmt.Sprintf(`
			const { Client } = require("@tributary-io/sdk/server");
			const said = [];
			const client = new Client({ companyId: "loja", endpoint: %q, linger: 1e9, onError: (e) => said.push(e.code) });
			(async () => {
				client.track("ONE_%d"), client.track("TWO_%d");
				const first = await client.flush();
				client.track("HEALED_%d");
				console.log(first, await client.close(), said.join());
			})()`, e.URL+"/t", status, status, status))
		want := "false true no_answer"
		if status == 307 || status == 413 {
			want = "true true"
		}
		so := e.seen()
		if got != want || so.named(fmt.Sprintf("ONE_%d", status)) == nil || so.named(fmt.Sprintf("TWO_%d", status)) == nil ||
			so.named(fmt.Sprintf("HEALED_%d", status)) == nil {
			t.Errorf("%d: prints %q, events %s", status, got, names(so.events))
		}
	}
	e.takesAtMost(6000)
	got := node(t, dir, "-e", `
		const { Client } = require("@tributary-io/sdk/server");
		const said = [];
		const client = new Client({ companyId: "loja", endpoint: "`+e.URL+`/t", linger: 1e9, onError: (e) => said.push(e.code) });
		client.track("BIG", { text: "x".repeat(8000) });
		for (let i = 0; i < 60; i++) client.track("NOTE");
		client.close().then((done) => console.log(done, said.join()))`)
	if so := e.seen(); got != "false too_large" || so.copies("NOTE") != 60 || so.named("BIG") != nil || len(so.dropped) != 0 {
		t.Errorf("prints %q, %d notes, dropped %v", got, so.copies("NOTE"), so.dropped)
	}
}

// Each code of the edge is a refusal of a batch or of a client, or one of these, after which it is asked again.
func TestEveryCodeOfTheEdgeIsKnownToTheClients(t *testing.T) {
	again := map[collector.Code]bool{"payload_too_large": true, "method_not_allowed": true} // halved; a redirect has changed the method
	for _, code := range []collector.Code{"request_timeout", "rate_limit_exceeded", "directory_not_fresh", "wrong_hashing_secret",
		"unavailable", "internal_error"} {
		again[code] = true
	}
	text, err := os.ReadFile("src/answer.ts")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]*regexp.Regexp{}
	for _, found := range regexp.MustCompile(`const ([A-Z]+) = /(.*)/;`).FindAllStringSubmatch(string(text), -1) {
		kinds[found[1]] = regexp.MustCompile(found[2])
	}
	if kinds["BATCH"] == nil || kinds["CLIENT"] == nil {
		t.Fatalf("kinds %v", kinds)
	}
	codes := collector.Codes()
	for _, code := range []core.Code{core.CodeInvalidJSON, core.CodeInvalidField, core.CodeInvalidTimestamp, core.CodeNoEvents,
		core.CodeTooManyEvents, core.CodeCompanyIDRequired, core.CodeMixedCompanies, core.CodeInvalidPayload} {
		codes = append(codes, collector.Code(code))
	}
	for _, code := range codes {
		batch, client := kinds["BATCH"].MatchString(string(code)), kinds["CLIENT"].MatchString(string(code))
		if n := map[bool]int{true: 1}; n[batch]+n[client]+n[again[code]] != 1 {
			t.Errorf("%s: of a batch %t, of a client %t, tried again %t", code, batch, client, again[code])
		}
	}
}
