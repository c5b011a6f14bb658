package core_test

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

var update = flag.Bool("update", false, "write the golden files' expected part anew; look at the difference")

// golden is a file of testdata/events: a raw envelope, a rule of dashes, and
// the canonical event or "code field" of its violation.
func golden(t *testing.T, f func(name, raw, want string)) {
	t.Helper()
	files, err := filepath.Glob("../../testdata/events/*.txt")
	if err != nil || len(files) < 10 {
		t.Fatalf("golden events: %d files, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		raw, want, ok := strings.Cut(string(text), "\n----------\n")
		if !ok && !*update {
			t.Fatalf("%s has no rule of dashes", file)
		}
		raw = strings.TrimSpace(raw)
		if *update {
			if err := os.WriteFile(file, []byte(raw+"\n----------\n"+one(t, raw)+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		f(filepath.Base(file), raw, strings.TrimSpace(want))
	}
}

func TestEnvelopesBecomeTheirCanonicalEvents(t *testing.T) {
	golden(t, func(name, raw, want string) {
		got := one(t, raw)
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
		if strings.HasPrefix(got, "{") && one(t, got) != got {
			t.Errorf("%s: parsed again it is %s", name, one(t, got))
		}
	})
}

// The edge puts AppendFields into its record; the processor reads that as
// wire.Event. Names and nesting must agree.
func TestFieldsDecodeAsTheWiresEvent(t *testing.T) {
	e := core.Event{
		ID: id, Name: core.AddToCart, Timestamp: now, Payload: `{"items":[]}`,
		Identity: core.Identity{Email: "ana@example.com"},
		Context: core.Context{
			Page:     core.Page{URL: "https://l.example/p?q=1", Path: "/p", Referrer: "https://r.example/", Title: `"T"`},
			Campaign: core.Campaign{Source: "s", Medium: "m", Name: "n", Content: "c", Term: "t"},
			ClickIDs: []core.Param{{Name: "fbclid", Value: "f"}, {Name: "trb_click", Value: "x"}},
			Networks: core.NetworkIDs{GA: "1.2", GASession: "AB12CD34EF.1762344000", FBP: "fb.1.1738782878094.8",
				TTP: "kEDQ0tJexuVClkJ41P2SHjupLEY"},
			Library:   core.Library{Name: "sdk-js", Version: "1"},
			Locale:    "pt-BR",
			Screen:    "1x2",
			UserAgent: "UA",
		},
		VisitorID: "v", SessionID: "s", Stream: "st", Seq: 7, Consent: "granted",
	}
	record := `{"companyId":"loja",` + string(core.AppendFields(nil, &e)) + `}`
	if strings.Contains(record, "ana@") || strings.Contains(record, "consent") {
		t.Fatalf("identity or consent is in %s", record)
	}
	var got wire.Event
	dec := json.NewDecoder(strings.NewReader(record))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&got); err != nil {
		t.Fatalf("%v: %s", err, record)
	}
	want := wire.Event{
		CompanyID: "loja", EventID: id, Event: core.AddToCart, Timestamp: time.UnixMilli(now).UTC(), Payload: json.RawMessage(e.Payload),
		Context: wire.Context{
			Page: wire.Page(e.Context.Page), Campaign: wire.Campaign(e.Context.Campaign), Library: wire.Library(e.Context.Library),
			ClickIDs: map[string]string{"fbclid": "f", "trb_click": "x"}, Locale: "pt-BR", Screen: "1x2", UserAgent: "UA",
			NetworkIDs: map[string]string{wire.NetworkIDGA: "1.2", wire.NetworkIDGASession: "AB12CD34EF.1762344000",
				wire.NetworkIDFBP: "fb.1.1738782878094.8", wire.NetworkIDTTP: "kEDQ0tJexuVClkJ41P2SHjupLEY"},
		},
		VisitorID: "v", SessionID: "s", Stream: "st", Seq: 7,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("decoded\n%+v, want\n%+v", got, want)
	}
}

// Every import of the core is downloaded by every shopper (docs/adr/0004).
func TestTheCoreImportsLittle(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{join .Imports " "}}`, ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	allowed := map[string]bool{"errors": true, "math/bits": true, "strings": true, "strconv": true, "slices": true, "unicode/utf8": true}
	for _, path := range strings.Fields(string(out)) {
		if !allowed[path] {
			t.Errorf("the core imports %s", path)
		}
	}
	out, err = exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatalf("go list -deps: %v", err)
	}
	for _, path := range strings.Fields(string(out)) {
		switch path {
		case "fmt", "time", "reflect", "os", "io/fs", "encoding/json", "regexp", "context", "net":
			t.Errorf("the core reaches %s", path)
		}
	}
}

func TestTimes(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		ms, ok := core.ParseTime(text)
		got := ""
		if ok {
			got = string(core.AppendTime(nil, ms))
			if std, err := time.Parse(time.RFC3339Nano, strings.ToUpper(text)); err == nil && std.UnixMilli() != ms {
				t.Errorf("ParseTime(%s): %d, time.Parse says %d", text, ms, std.UnixMilli())
			}
		}
		if got != want {
			t.Errorf("ParseTime(%s): %q, want %q", text, got, want)
		}
	}
	f("2026-05-28T20:26:40Z", "2026-05-28T20:26:40.000Z")
	f("2026-05-28t20:26:40.1239z", "2026-05-28T20:26:40.123Z")
	f("2026-05-28T20:26:40.5-03:00", "2026-05-28T23:26:40.500Z")
	f("2024-02-29T23:59:60Z", "2024-03-01T00:00:00.000Z")
	f("0000-03-01T00:00:00Z", "0000-03-01T00:00:00.000Z")
	f("1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z")
	f("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z")
	f("2023-02-29T00:00:00Z", "")
	f("2026-13-01T00:00:00Z", "")
	f("2026-01-01T24:00:00Z", "")
	f("2026-01-01T00:00:00", "")
	f("2026-01-01T00:00:00.Z", "")
	f("2026-01-01 00:00:00Z", "")
	f("2026-01-01T00:00:00+0300", "")
	f("", "")
}

func TestEveryDayIsTheCalendars(t *testing.T) {
	for d := time.Date(1896, 1, 1, 0, 0, 0, 0, time.UTC); d.Year() < 2105; d = d.AddDate(0, 0, 1) {
		want := d.Format("2006-01-02T15:04:05.000Z")
		if got := string(core.AppendTime(nil, d.UnixMilli())); got != want {
			t.Fatalf("AppendTime: %s, want %s", got, want)
		}
		if ms, ok := core.ParseTime(want); !ok || ms != d.UnixMilli() {
			t.Fatalf("ParseTime(%s): %d, want %d", want, ms, d.UnixMilli())
		}
	}
}

func TestUUIDv7(t *testing.T) {
	f := func(s string, want bool) {
		t.Helper()
		if got := core.ValidUUIDv7(s); got != want {
			t.Errorf("ValidUUIDv7(%q): %v", s, got)
		}
	}
	f("016d849d-dbe8-70d2-8876-38788d4e84f7", true)
	f("016D849D-DBE8-70D2-B876-38788D4E84F7", true)
	f("016d849d-dbe8-40d2-8876-38788d4e84f7", false)
	f("016d849d-dbe8-70d2-c876-38788d4e84f7", false)
	f("016d849ddbe870d2887638788d4e84f7", false)
	f("016d849d-dbe8-70d2-8876-38788d4e84fg", false)
	f("", false)
	if got := core.UUIDv7Time("016d849d-dbe8-70d2-8876-38788d4e84f7"); got != 1569888001000 {
		t.Errorf("UUIDv7Time: %d", got)
	}
}

func TestCampaignsComeOutOfURLs(t *testing.T) {
	f := func(url string, campaign core.Campaign, ids ...core.Param) {
		t.Helper()
		c, got := core.ParseCampaign(url)
		if c != campaign || !reflect.DeepEqual(got, ids) {
			t.Errorf("ParseCampaign(%s): %+v %v, want %+v %v", url, c, got, campaign, ids)
		}
	}
	f("", core.Campaign{})
	f("https://l.example/p?a=1", core.Campaign{})
	f("https://l.example/?utm_source=influencer&utm_medium=link&utm_campaign=Ana+Prado&utm_content=Inverno%2026&utm_term=x",
		core.Campaign{Source: "influencer", Medium: "link", Name: "Ana Prado", Content: "Inverno 26", Term: "x"})
	f("https://l.example/?utm_source=first&utm_source=second#?utm_medium=no", core.Campaign{Source: "first"})
	f("https://l.example/#/p?utm_source=spa", core.Campaign{Source: "spa"})
	f("https://l.example/?utm_source=%zz%00%ff&&=&utm_medium", core.Campaign{Source: "%zz\ufffd\ufffd"})
	f("https://l.example/?ttclid=T&gclid=G&gclid=H&fbclid=&trb_click=c.1", core.Campaign{},
		core.Param{Name: "gclid", Value: "G"}, core.Param{Name: "trb_click", Value: "c.1"}, core.Param{Name: "ttclid", Value: "T"})
}

// A plain event as the importer sends it costs its Item and nothing more.
func TestPlainEventsCostNoAllocationPerField(t *testing.T) {
	body := `{"companyId":"loja","eventId":"` + id + `","event":"PRODUCT_VIEW","timestamp":"2019-10-01T00:00:01Z","visitorId":"550050854",` +
		`"payload":{"items":[{"item_id":"1307067","item_quantity":1}]},` +
		`"context":{"page":{"url":"https://loja.example.com/p/1307067?utm_source=influencer&utm_medium=link"}}}`
	n := testing.AllocsPerRun(200, func() {
		if b, v := core.ParseBatch(body, "", core.Options{}); v != nil || b.Items[0].Err != nil {
			t.Fatal(v, b.Items[0].Err)
		}
	})
	if n > 2 {
		t.Errorf("%v allocations, want at most 2", n)
	}
}
