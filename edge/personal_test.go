package edge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
	"github.com/tributary-io/tributary/test/await"
)

// planter makes personal values that no two places share.
type planter struct {
	made    int
	needles []string // what must be found nowhere, as it was sent
}

// phone is a mobile number of São Paulo, written whole.
func (p *planter) phone() string {
	p.made++
	number := fmt.Sprintf("55119%08d", 70_000_000+p.made*7919)
	p.needles = append(p.needles, number[4:])
	return number
}

// email is an address; format has one verb for its local part.
func (p *planter) email(format string) string {
	p.made++
	local := fmt.Sprintf("shopper.q%dz", p.made)
	p.needles = append(p.needles, local)
	return fmt.Sprintf(format, local)
}

// anywhere gives one of the forms of a value that is known in any text.
func (p *planter) anywhere() string {
	switch p.made % 7 {
	case 0:
		return "+" + p.phone()
	case 1:
		return p.email("%s%%40example.com")
	case 2:
		return p.email("%s＠example.com")
	case 3:
		return p.email("%s@example.com.br")
	case 4:
		return "https://wa.me/" + p.phone()
	case 5:
		return "%2B" + p.phone()
	}
	return p.email("https://x.example.com/?u=%%2Fc%%3Fe%%3D%s%%2540example.com")
}

// event plants a value in every place of an event that a caller fills.
func (p *planter) event(id string) map[string]any {
	ids := []string{p.phone(), p.email("%s%%40example.com"), p.email("%s@example.com")}
	return map[string]any{
		"eventId": id, "event": "PRODUCT_VIEW", "consent": "granted ga4,meta,tiktok", "visitorId": ids[0], "sessionId": ids[1], "stream": ids[2],
		"identity": map[string]any{"email": p.email("%s@example.com"), "phone": p.phone(), "customer_id": p.phone(),
			"cart_token": p.email("%s@x.com")},
		"payload": map[string]any{
			"phones": []any{p.phone(), p.phone()}, "phoneNumber1": p.phone(), "contactNumber": p.phone(),
			"telefone": map[string]any{"numero": p.phone()},
			"note":     p.anywhere(), "nested": map[string]any{"deep": []any{p.anywhere(), p.anywhere()}, p.email("%s@example.com"): true},
			"json": `{"celular":"` + p.phone() + `","to":"` + p.email("%s@example.com") + `"}`,
			"text": "Telefone: " + p.phone() + ", ou " + p.anywhere(),
		},
		"context": map[string]any{
			"page": map[string]any{
				"url":      "https://loja.example.com/c?phones=" + p.phone() + "&e=" + p.email("%s%%EF%%BC%%A0example.com"),
				"path":     "/c/" + p.email("%s@example.com"),
				"referrer": "https://wa.me/" + p.phone(), "title": p.anywhere(),
			},
			"campaign": map[string]any{"source": p.anywhere(), "medium": p.anywhere(), "name": p.anywhere(), "content": p.anywhere(),
				"term": p.anywhere()},
			"clickIds": map[string]any{"gclid": p.email("%s＠example.com"), "fbclid": p.email("%s%%40example.com"),
				"trb_click": p.email("%s@x.com")},
			"networkIds": map[string]any{"ga": p.phone(), "ga_session": p.phone() + ".1762344000",
				"fbp": p.email("%s@x.com"), "ttp": p.anywhere(), "other": p.phone()},
			"library": map[string]any{"name": p.phone(), "version": p.email("%s%%40x.com")},
			"locale":  p.phone(), "screen": p.phone(), "userAgent": "App/1.0 (" + p.phone() + ") " + p.email("%s%%40x.com"),
		},
	}
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPersonalValuesReachNeitherKafkaNorTheLog(t *testing.T) {
	var log await.Buffer
	s := newStand(t, func(_ *Config, deps *Deps) {
		deps.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	var p planter

	// An event object, a raw envelope, the pixel and a short link.
	s.post(200, batchOf(asJSON(t, p.event(newID()))))
	e := p.event(newID())
	page := e["context"].(map[string]any)["page"].(map[string]any)
	flat := map[string]any{
		"url": "https://wa.me/" + p.phone(), "referrer": page["referrer"], "title": page["title"],
		"visitorId": e["visitorId"], "sessionId": e["sessionId"], "stream": e["stream"], "userAgent": p.phone(), "locale": p.email("%s%%40x.com"),
	}
	s.post(200, batchOf(asJSON(t, []any{"r1", e["eventId"], nil, "PAGE_VIEW", asJSON(t, e["payload"]), asJSON(t, e["identity"]), flat})))
	query := url.Values{
		"companyId": {testCompany}, "visitorId": {p.phone()}, "sessionId": {p.email("%s@x.com")}, "url": {"https://wa.me/" + p.phone()},
		"referrer": {p.anywhere()}, "title": {p.anywhere()}, "payload": {`{"phoneNumber1":` + p.phone() + `}`},
	}
	if response, text := s.do("GET", "/v1/pixel.gif?"+query.Encode(), "", "User-Agent: Mail/1 ("+p.phone()+")",
		"X-Request-Id: "+p.phone()); response.StatusCode != 200 {
		t.Fatalf("pixel %d %s", response.StatusCode, text)
	}
	if response, _ := s.do("GET", "/s/"+testCode, "", "Referer: https://wa.me/"+p.phone(),
		"User-Agent: "+p.email("%s@x.com")+" "+p.phone()); response.StatusCode != 302 {
		t.Fatalf("short link %d", response.StatusCode)
	}

	// The same, refused: for its id, its time, its name, and for what is no event at all.
	for field, value := range map[string]any{"eventId": p.phone(), "timestamp": p.phone(), "event": p.email("%s@x.com"), "seq": p.phone(),
		"consent": p.email("%s@x.com")} {
		bad := p.event(newID())
		bad[field] = value
		s.post(200, batchOf(asJSON(t, bad)))
	}
	s.post(200, batchOf(asJSON(t, p.phone()), asJSON(t, []any{p.email("%s@x.com")}),
		asJSON(t, []any{"r1", p.phone(), nil, "PAGE_VIEW", nil, nil, flat})))

	s.eventually("the click is written", func() bool { return len(s.events()) == 4 })
	var written bytes.Buffer
	records := map[string][]kafka.Record{wire.TopicEvents: s.log(wire.TopicEvents), wire.TopicRejected: s.log(wire.TopicRejected)}
	rejections := 0
	for _, letter := range s.letters() {
		rejections += letter.Count
	}
	if n := len(records[wire.TopicRejected]); n != 7 || rejections != 8 {
		t.Errorf("%d dead letters for %d rejections, want 7 for 8", n, rejections)
	}
	for _, of := range records {
		for _, r := range of {
			written.Write(r.Value)
			written.WriteByte('\n')
		}
	}
	if len(p.needles) < 100 {
		t.Errorf("only %d values were planted", len(p.needles))
	}
	for _, needle := range p.needles {
		for line := range strings.Lines(written.String() + log.String()) {
			if i := strings.Index(line, needle); i >= 0 {
				t.Errorf("%s is in …%s", needle, line[max(0, i-60):min(len(line), i+60)])
			}
		}
	}
}

func TestAPathIsScrubbedWithItsHost(t *testing.T) {
	f := func(page, want core.Page) {
		t.Helper()
		e := core.Event{Context: core.Context{Page: page}}
		if scrubEvent(&e, testHasher(t).Company("co_1", "BR").Recent()); e.Context.Page != want {
			t.Errorf("%+v\nbecame %+v", page, e.Context.Page)
		}
	}
	f(core.Page{URL: "https://wa.me/5511987654321?text=oi", Path: "/5511987654321"},
		core.Page{URL: "https://wa.me/(phone)?text=oi", Path: "/(phone)"})
	f(core.Page{URL: "https://wa.me?x", Path: "5511987654321"}, core.Page{URL: "https://wa.me?x", Path: "/(phone)"})
	f(core.Page{URL: "https://x.com/p/5511987654321#a", Path: "/p/5511987654321"},
		core.Page{URL: "https://x.com/p/5511987654321#a", Path: "/p/5511987654321"})
	f(core.Page{URL: "https://ana@example.com/u/bia@example.com", Path: "/u/bia@example.com"},
		core.Page{URL: "https://(email)/u/(email)", Path: "/u/(email)"})
	f(core.Page{Path: "/u/bia@example.com"}, core.Page{Path: "/u/(email)"})
	f(core.Page{URL: "https://x.com"}, core.Page{URL: "https://x.com"})
}
