package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
)

// sendEvents sends values in every field of an event, one event a value, by
// every form of a request.
func (s *sender) sendEvents() {
	p := &s.planted
	var list []string
	put := func(path string, value any) {
		list = append(list, s.event(path, value))
	}
	put("context.page.title", names+": Tênis 2026-11-21, R$ 1.299,90, pedido 700123456789")

	const page = "context.page.url"
	for _, field := range []string{page, "context.page.referrer", "context.page.path"} {
		put(field, "https://wa.me/55"+p.phone(field+", wa.me"))
		put(field, "https://loja.example.com/conta/"+p.email(field+", in the path")+"/pedidos")
	}
	put("context.page.path", "/conta/"+p.email("page.path alone"))
	put("context.page.path", "/ligar/+55"+p.phone("page.path alone"))
	put(page, "https://wa.me/+"+p.foreign("url, wa.me, foreign")+"?text=oi")
	put(page, "https://api.whatsapp.com/send?phone=55"+p.phone("url, whatsapp")+"&text=oi")
	put(page, "https://api.whatsapp.com/send/?phone="+p.foreign("url, whatsapp, foreign"))
	put(page, "whatsapp://send?phone=55"+p.phone("url, whatsapp scheme"))
	put(page, "tel:+"+p.foreign("url, tel"))
	put(page, "tel:"+p.phone("url, tel without a code"))
	put(page, "https://"+strings.ReplaceAll(p.email("url, user"), "@", "%40")+":x@loja.example.com/")
	put(page, "https://loja.example.com/?email="+p.email("url, plain e-mail"))
	put(page, "https://loja.example.com/?email="+strings.ToUpper(p.email("url, e-mail in capitals")))
	put(page, "https://loja.example.com/?e="+escaped(p.email("url, %40"), 1))
	put(page, "https://loja.example.com/?e="+escaped(p.email("url, %2540"), 2))
	put(page, "https://loja.example.com/?e="+escaped(p.email("url, encoded three times"), 3))
	put(page, "https://loja.example.com/?e="+everyByte(p.email("url, every byte encoded")))
	put(page, "https://loja.example.com/?e="+escaped(everyByte(p.email("url, every byte encoded twice")), 1))
	put(page, "https://loja.example.com/?u="+escaped("https://wa.me/55"+p.phone("url in a url, wa.me"), 1))
	put(page, "https://loja.example.com/?u="+escaped("https://wa.me/55"+p.phone("url in a url, wa.me, twice"), 2))
	put(page, "https://loja.example.com/?u="+escaped("/p?phones=55"+p.phone("url in a url, phones")+"&x=1", 2))
	put(page, "https://loja.example.com/?t="+escaped("+"+p.foreign("url, %2B"), 1))
	put(page, "https://loja.example.com/?t="+escaped("+55"+p.phone("url, %252B"), 2))
	put(page, "https://loja.example.com/?q="+escaped(grouped(p.phone("url, grouped")), 1))
	put(page, "https://loja.example.com/?q="+escaped("+55 "+grouped(p.phone("url, grouped, twice")), 2))
	put(page, "https://loja.example.com/#email="+p.email("fragment"))
	put(page, "https://loja.example.com/#/perfil/"+escaped(p.email("fragment, %40"), 1))
	put(page, "https://loja.example.com/#phone="+p.phone("fragment, phone"))
	put(page, "https://loja.example.com/p;phone="+p.phone("url, matrix parameter"))
	put(page, "https://loja.example.com/?e="+strings.ReplaceAll(p.email("url, fullwidth at"), "@", "＠"))
	put(page, "https://loja.example.com/?e="+url.QueryEscape(strings.ReplaceAll(p.email("url, fullwidth at, encoded"), "@", "＠")))
	put(page, "https://loja.example.com/?e="+escaped(strings.ReplaceAll(p.email("url, fullwidth at, encoded twice"), "@", "＠"), 2))
	put(page, "https://loja.example.com/?t="+url.QueryEscape(fullwidth("+55"+p.phone("url, fullwidth phone, encoded"))))
	cut := p.email("url, cut behind the at sign")
	put(page, "https://loja.example.com/?x="+strings.Repeat("x",
		2048-len("https://loja.example.com/?x=&e=")-strings.Index(cut, "@")-4)+"&e="+cut)
	for _, name := range []string{"customer_id", "userId", "cart_token", "customer[id]"} {
		put(page, "https://loja.example.com/?"+url.QueryEscape(name)+"="+p.customer("url, parameter "+name))
	}
	for _, name := range []string{"phone", "phones", "phoneNumber1", "contactNumber", "customer[phone]", "telefone", "celular", "whatsapp",
		"user_tel", "mobile_number"} {
		put(page, "https://loja.example.com/?"+url.QueryEscape(name)+"="+p.phone("url, parameter "+name))
	}

	for _, field := range []string{"context.page.title", "context.page.referrer", "context.campaign.source", "context.campaign.medium",
		"context.campaign.name", "context.campaign.content", "context.campaign.term", "context.clickIds.gclid", "context.clickIds.trb_click"} {
		put(field, "de "+p.email(field)+" hoje")
		put(field, "de +"+p.foreign(field+", foreign")+" hoje")
		put(field, "de "+grouped(p.phone(field+", grouped"))+" hoje")
	}
	put("context.page.title", "Fale com a gente: Telefone "+p.phone("title, in words"))
	digits := p.phone("title, three groups")
	put("context.page.title", "ligue "+digits[:2]+" "+digits[2:7]+" "+digits[7:])
	put("context.page.title", fullwidth(p.email("title, fullwidth")))
	put("context.page.title", fullwidth("+55"+p.phone("title, fullwidth phone")))
	put(page, "https://loja.example.com/?utm_campaign="+escaped(p.email("utm_campaign of the url"),
		1)+"&gclid="+escaped("+"+p.foreign("gclid of the url"), 1))

	for _, field := range []string{"visitorId", "sessionId", "stream", "context.locale", "context.screen", "context.userAgent",
		"context.library.name", "context.library.version", "context.networkIds.ga", "context.networkIds.ga_session",
		"context.networkIds.fbp", "context.networkIds.ttp"} {
		put(field, p.email(field))
		put(field, escaped(p.email(field+", %40"), 1))
		put(field, fullwidth(p.email(field+", fullwidth")))
		put(field, "55"+p.phone(field+", digits"))
		put(field, "+"+p.foreign(field+", foreign"))
		put(field, grouped(p.phone(field+", grouped")))
	}
	for _, field := range []string{"visitorId", "sessionId", "stream"} {
		put(field, p.customer(field+", customer id"))
	}

	s.putPayloads(put)
	s.putIdentities(put)
	put("unknown", p.email("an unknown field"))
	put("context.unknown", p.phone("an unknown field of the context"))
	put("identity.unknown", p.customer("an unknown field of the identity"))
	list = append(list, strings.Replace(s.event("context.page.title", p.email(`title, "\u0040"`)), "@", `\u0040`, 1),
		strings.Replace(s.event("payload.note", p.email(`payload, "\uff20"`)), "@", `\uff20`, 1))
	s.sendInEveryForm(list)
}

// putPayloads puts values into payloads, under names that say what they are and
// under others.
func (s *sender) putPayloads(put func(string, any)) {
	p := &s.planted
	for _, name := range []string{"phone", "phones", "phoneNumber1", "contactNumber", "Telefone", "celular", "whatsapp", "mobilePhone"} {
		put("payload."+name, p.phone("payload."+name))
		put("payload."+name, json.Number("55"+p.phone("payload."+name+", a number")))
		put("payload."+name, []any{p.foreign("payload." + name + ", a list")})
	}
	put("payload.phone.number", p.phone("payload.phone.number"))
	put("payload.contacts", []any{map[string]any{"number": p.phone("payload.contacts[].number")}})
	put("payload.deep.deeper", []any{map[string]any{"deepest": []any{p.email("payload, deep")}}})
	put("payload.note", "escreva para "+p.email("payload, text"))
	put("payload.note", "ligue "+grouped(p.phone("payload, text, grouped")))
	put("payload.note", fullwidth(p.email("payload, fullwidth")))
	put("payload."+strings.ReplaceAll(p.email("payload, a name"), ".", "\x00"), true)
	put("payload.+"+p.foreign("payload, a name, foreign"), true)
	put("payload.url", "https://wa.me/55"+p.phone("payload, wa.me"))
	put("payload.form", `{"phones":["`+p.phone("payload, JSON in a text")+`"],"email":"`+p.email("payload, JSON in a text")+`"}`)
	for _, name := range []string{"customer_id", "customerId", "userId", "user_id", "cart_token", "cartToken"} {
		put("payload."+name, p.customer("payload."+name))
		put("payload.order", map[string]any{name: p.customer("payload.order." + name)})
	}
	put("payload.customer", map[string]any{"id": p.customer("payload.customer.id"), "email": p.email("payload.customer.email")})
	put("payload.items",
		[]any{map[string]any{"item_id": p.email("payload.items[].item_id"), "item_quantity": 1,
			"item_name": p.email("payload.items[].item_name")}})
	put("payload.products", []any{map[string]any{"sku": "tee-m", "quantity": 1, "gift_to": "+" + p.foreign("payload.products[].gift_to")}})
}

// putIdentities puts values into the identity, each in its own field and in others.
func (s *sender) putIdentities(put func(string, any)) {
	p := &s.planted
	put("identity.email", " "+strings.ToUpper(p.email("identity.email"))+" ")
	put("identity.email", p.phone("identity.email, a phone"))
	put("identity.email", p.customer("identity.email, a customer id"))
	put("identity.phone", "55"+p.phone("identity.phone"))
	put("identity.phone", "+"+p.foreign("identity.phone, foreign"))
	put("identity.phone", p.email("identity.phone, an e-mail"))
	put("identity.customer_id", p.customer("identity.customer_id"))
	put("identity.customer_id", p.email("identity.customer_id, an e-mail"))
	put("identity.cart_token", p.customer("identity.cart_token"))
	put("identity.cart_token", p.phone("identity.cart_token, a phone"))
}

// event is a valid event with one field set, named by its path.
func (s *sender) event(path string, value any) string {
	s.t.Helper()
	e := map[string]any{
		"eventId": uuid.Must(uuid.NewV7()).String(), "event": "PAGE_VIEW", "timestamp": time.Now().UTC().Format(time.RFC3339),
		"visitorId": uuid.NewString(), "consent": "granted ga4,meta,tiktok", "context": map[string]any{"page": map[string]any{}},
	}
	at, names := e, strings.Split(path, ".")
	for _, name := range names[:len(names)-1] {
		inner, _ := at[name].(map[string]any)
		if inner == nil {
			inner = map[string]any{}
			at[name] = inner
		}
		at = inner
	}
	at[strings.ReplaceAll(names[len(names)-1], "\x00", ".")] = value
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(e); err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(text.String())
}

// sendInEveryForm sends events as one object, as arrays and as batches, as
// beacons and compressed. Each must be acknowledged.
func (s *sender) sendInEveryForm(list []string) {
	s.t.Helper()
	withCompany := func(event string) string {
		return `{"companyId":"` + s.dev.CompanyID + `",` + strings.TrimPrefix(event, "{")
	}
	for form := 0; len(list) > 0; form++ {
		n := min(len(list), 9)
		array := "[" + strings.Join(list[:n], ",") + "]"
		batch := fmt.Sprintf(`{"companyId":%q,"sentAt":%q,"events":%s}`, s.dev.CompanyID, time.Now().UTC().Format(time.RFC3339), array)
		header := map[string]string{"Content-Type": "application/json"}
		switch form % 5 {
		case 0: // one object
			n, array = 1, withCompany(list[0])
		case 1: // an array, as it is
		case 2:
			array = batch
		case 3: // what navigator.sendBeacon sends
			header["Content-Type"] = "text/plain;charset=UTF-8"
		case 4:
			header["Content-Encoding"], array = "gzip", gzipped(batch)
		}
		s.post(array, header, n, "ok")
		s.events += int64(n)
		list = list[n:]
	}
}

// post sends a body of n events to the edge and wants the status of each.
func (s *sender) post(body string, header map[string]string, n int, want string) {
	s.t.Helper()
	request, err := s.request(http.MethodPost, s.dev.EdgeURL+"/v1/events?companyId="+s.dev.CompanyID, body, header)
	got := s.do(request, err, http.StatusOK)
	var reply struct {
		Results []struct{ Status, Code, Message string }
	}
	if err := json.Unmarshal(got.body, &reply); err != nil || len(reply.Results) != n {
		s.t.Fatalf("POST /v1/events of %d events: %v: %s", n, err, got.body)
	}
	for i, r := range reply.Results {
		if r.Status != want {
			s.t.Errorf("event %d of %s: %+v, want %s", i, body, r, want)
		}
	}
}

// sendEnvelopes sends values in the browser SDK's form of an event.
func (s *sender) sendEnvelopes() {
	p := &s.planted
	envelope := func(payload, identity string, context map[string]any) string {
		text, err := json.Marshal([]any{"r1", uuid.Must(uuid.NewV7()).String(), time.Now().UTC().Format(time.RFC3339), "PAGE_VIEW",
			payload, identity, context})
		if err != nil {
			s.t.Fatal(err)
		}
		return string(text)
	}
	list := []string{
		envelope(`{"phones":["`+p.phone("envelope, payload")+`"],"note":"`+p.email("envelope, payload")+`"}`,
			`{"email":"`+p.email("envelope, identity")+`"}`,
			map[string]any{"url": "https://wa.me/55" + p.phone("envelope, url"), "visitorId": p.email("envelope, visitorId")}),
		envelope(`{}`, `{"customer_id":"`+p.customer("envelope, identity")+`","phone":"`+p.phone("envelope, identity")+`"}`,
			map[string]any{"referrer": "https://loja.example.com/?e=" + escaped(p.email("envelope, referrer"), 2),
				"title":     "+" + p.foreign("envelope, title"),
				"sessionId": p.phone("envelope, sessionId"), "stream": p.phone("envelope, stream"), "seq": 7,
				"locale": p.phone("envelope, locale"), "screen": p.email("envelope, screen"), "userAgent": p.email("envelope, userAgent"),
				"library": map[string]any{"name": p.email("envelope, library"), "version": p.phone("envelope, library")}}),
	}
	s.post("["+strings.Join(list, ",")+"]", map[string]string{"Content-Type": "text/plain"}, len(list), "ok")
	s.events += int64(len(list))
}

// sendRejectedEvents sends events that are refused each for another reason.
func (s *sender) sendRejectedEvents() {
	p := &s.planted
	everything := func(reason string) string {
		door := "rejected, " + reason + ": "
		return `"visitorId":"` + p.email(door+"visitorId") + `","sessionId":"` + p.phone(door+"sessionId") +
			`","payload":{"phones":["` + p.phone(door+"payload.phones") + `"],"n":55` + p.phone(door+"payload, a number") + `,"customerId":"` +
			p.customer(door+"payload.customerId") +
			`","t":"` + p.phone(door+"payload, a text") + `","form":"{\"user\":{\"id\":\"` + p.customer(door+"payload, JSON in a text") + `\"}}"},` +
			`"identity":{"email":"` + p.email(door+"identity") + `","customer_id":"` + p.customer(door+"identity") + `"},` +
			`"context":{"page":{"url":"https://wa.me/55` + p.phone(door+"url") + `","title":"` + names + ` ` + p.email(door+"title") +
			`"}},"timestamp":"2026-03-15T12:00:00Z"`
	}
	id := uuid.Must(uuid.NewV7()).String()
	list := []string{
		`{"event":"PAGE_VIEW","eventId":"` + p.email("rejected, eventId, an e-mail") + `",` + everything("invalid eventId") + `}`,
		`{"event":"PAGE_VIEW","eventId":"55` + p.phone("rejected, eventId, a phone") + `"}`,
		`{"event":"PAGE_VIEW","eventId":"` + p.customer("rejected, eventId, a customer id") + `"}`,
		`{"event":"` + p.email("rejected, event") + `",` + everything("invalid name") + `}`,
		`{"event":"` + p.phone("rejected, event, a phone") + `"}`,
		`{"event":"CHECKOUT_COMPLETED",` + everything("no items") + `}`,
		`{"event":"PAGE_VIEW","timestamp":"` + p.email("rejected, timestamp") + `"}`,
		`{"event":"PAGE_VIEW","consent":"` + p.email("rejected, consent") + `"}`,
		`{"event":"PAGE_VIEW","seq":"` + p.phone("rejected, seq") + `"}`,
		`{"event":"PAGE_VIEW","identity":"` + p.customer("rejected, identity, a text") + `"}`,
		`{"event":"PAGE_VIEW","visitorId":["` + p.customer("rejected, visitorId, a list") + `"]}`,
		`{"event":"PAGE_VIEW","payload":"` + p.email("rejected, payload, a text") + `"}`,
		`{"event":"PAGE_VIEW","eventId":"` + id + `","payload":{"x":` + p.phone("rejected, not JSON") + ` "` +
			p.email("rejected, not JSON") + `"}}`,
		`{"event":"PAGE_VIEW","payload":{"x":"` + strings.Repeat("x", 40_000) + `"},` +
			strings.Replace(everything("too large"), `"payload"`, `"other"`, 1) + `}`,
		`{"event":"no name","payload":{"x":"` + strings.Repeat("x", 20_000) + `"},"t":"` + p.email("rejected, too large to keep") + `"}`,
		`{"event":"PAGE_VIEW","payload":` + strings.Repeat("[", 40) + `"` + p.email("rejected, too deep") + `"` + strings.Repeat("]", 40) + `}`,
		`"` + p.email("rejected, only a text") + `"`,
		`55` + p.phone("rejected, only a number"),
		`["` + p.email("rejected, a list") + `"]`,
		`["r1","` + p.email("rejected, an envelope, eventId") + `","2026-03-15T12:00:00Z","PAGE_VIEW","{\"note\":\"` +
			p.email("rejected, an envelope, payload") +
			`\"}","{\"customer_id\":\"` + p.customer("rejected, an envelope, identity") + `\"}",{"visitorId":"` +
			p.customer("rejected, an envelope, visitorId") + `"}]`,
	}
	for _, one := range list {
		// After another event, so that a list alone is no envelope. It is rejected for a
		// reason of its own: those of one request that have the same share a dead letter.
		s.post(`[{"event":"PAGE_VIEW","payload":{"n":1e400}},`+one+`]`, map[string]string{"Content-Type": "application/json"}, 2, "rejected")
		s.rejected += 2
	}

	// Refused as a whole.
	header := map[string]string{"Content-Type": "application/json"}
	for _, body := range []string{
		`{"event":"PAGE_VIEW","visitorId":"` + p.email("refused, not JSON") + `"`,
		p.email("refused, only a text"),
		`{"event":"PAGE_VIEW","sentAt":"` + p.email("refused, sentAt") + `"}`,
		`{"companyId":"` + p.email("refused, companyId") + `","event":"PAGE_VIEW"}`,
	} {
		request, err := s.request(http.MethodPost, s.dev.EdgeURL+"/v1/events?companyId="+s.dev.CompanyID, body, header)
		s.do(request, err, http.StatusBadRequest)
	}
	request, err := s.request(http.MethodPost,
		s.dev.EdgeURL+"/v1/events?companyId="+url.QueryEscape(p.email("refused, companyId of the query")), `{"event":"PAGE_VIEW"}`, header)
	s.do(request, err, http.StatusUnauthorized, http.StatusServiceUnavailable) // 503 while the directory may lack it
	request, err = s.request(http.MethodPost, s.dev.EdgeURL+"/v1/events", `{"event":"`+p.email("refused, an unknown encoding")+`"}`,
		map[string]string{"Content-Encoding": p.email("refused, Content-Encoding")})
	s.do(request, err, http.StatusUnsupportedMediaType)
}

func gzipped(text string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write([]byte(text)) // a buffer takes all
	_ = w.Close()
	return out.String()
}

// escaped is a text as the value of a query parameter, in a URL that is one
// itself, and so on.
func escaped(text string, times int) string {
	for range times {
		text = url.QueryEscape(text)
	}
	return text
}

// everyByte escapes letters and digits too.
func everyByte(text string) string {
	var out strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&out, "%%%02X", text[i])
	}
	return out.String()
}
