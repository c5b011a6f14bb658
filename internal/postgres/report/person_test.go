package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// exported is the file of a person's data.
type exported struct {
	CompanyID string   `json:"company_id"`
	NamedBy   []string `json:"named_by"`
	Orders    []struct {
		Order     wire.Order
		Personal  wire.Personal
		State     string
		Decisions []struct{ Decision, Reason string }
	}
	Versions []struct{ Order wire.Order } `json:"earlier_versions"`
	Visitors []struct {
		Visitor int
		Alone   bool
	}
	Events []struct {
		Visitor int
		Context wire.Context
	}
	Complete *bool
}

const (
	mariasEmail = "k1:maria"
	strangers   = "k1:stranger"
	ownBrowser  = "3f0e7b52-6d1c-4b8e-9a57-2c81d4f6a90b"
	shared      = "7c2a91e4-58d3-4f06-b1ea-90d37f5c26a8"
)

func exportOf(t *testing.T, f *reporttest.Fixture, key facts.Key) (file exported, text string) {
	t.Helper()
	var out bytes.Buffer
	p := commerce.PersonFile{CompanyID: f.Store.Live.CompanyID, At: time.Now(), Kinds: []string{"email"}}
	if err := f.DB.WritePerson(t.Context(), p, []facts.Key{key}, &out); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out.Bytes(), &file); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
	if file.CompanyID != f.Store.Live.CompanyID || file.Complete == nil {
		t.Errorf("%s", out.String())
	}
	return file, out.String()
}

func visit(company, visitor, email, page string) wire.Event {
	now := time.Now().UTC().Truncate(time.Millisecond)
	return wire.Event{CompanyID: company, EventID: uuid.Must(uuid.NewV7()).String(), Event: "PAGE_VIEW", ReceivedAt: now, Timestamp: now,
		VisitorID: visitor, Identity: wire.Identity{EmailKey: email}, Bot: wire.BotNone, Trust: wire.TrustOpen,
		Context: wire.Context{Page: wire.Page{URL: "https://loja.example.com/" + page}}}
}

// What is written is the person's alone. Who sends events with the id of another's browser and an e-mail of their own, and asks
// then for what is stored by that e-mail, does not get what the other one did.
func TestAPersonsDataIsTheirOwn(t *testing.T) {
	t.Parallel()
	f := reporttest.New(t)
	company := f.Store.Live.CompanyID
	email := facts.Key{Kind: facts.KeyEmail, Value: mariasEmail}
	now := time.Now()
	for _, id := range []string{"1001", "1002", "1003"} {
		f.Put(reporttest.Order{CompanyID: company, ID: id, TotalMinor: 1000})
	}
	f.Key(company, "1001", email, now)
	f.Key(company, "1002", email, now)
	f.Key(company, "1003", facts.Key{Kind: facts.KeyEmail, Value: strangers}, now)
	f.Came(visit(company, ownBrowser, mariasEmail, "login"), visit(company, ownBrowser, "", "gift"),
		visit(company, shared, mariasEmail, "hers"), visit(company, shared, strangers, "theirs"), visit(company, shared, "", "whose"))
	f.Came(visit(f.Store.Sandbox.CompanyID, ownBrowser, mariasEmail, "sandbox"))
	file, text := exportOf(t, f, email)
	if len(file.Orders) != 2 || file.Orders[0].Order.OrderID != "1001" || file.Orders[1].Order.OrderID != "1002" || !*file.Complete {
		t.Errorf("orders: %s", text)
	}
	var pages []string
	for i := range file.Events {
		pages = append(pages, strings.TrimPrefix(file.Events[i].Context.Page.URL, "https://loja.example.com/"))
	}
	if got := fmt.Sprint(pages); got != "[login gift hers]" {
		t.Errorf("events of %s", got)
	}
	for _, secret := range []string{ownBrowser, shared, mariasEmail, strangers} {
		if strings.Contains(text, secret) {
			t.Errorf("the file has %s", secret)
		}
	}
	if len(file.Visitors) != 2 || !file.Visitors[0].Alone || file.Visitors[1].Alone {
		t.Errorf("visitors: %+v", file.Visitors)
	}
	attack, text := exportOf(t, f, facts.Key{Kind: facts.KeyEmail, Value: strangers})
	if len(attack.Orders) != 1 || len(attack.Events) != 1 || !strings.HasSuffix(attack.Events[0].Context.Page.URL, "theirs") {
		t.Errorf("the stranger gets %s", text)
	}
	nobody, text := exportOf(t, f, facts.Key{Kind: facts.KeyPhone, Value: "k1:x"})
	if len(nobody.Orders)+len(nobody.Visitors)+len(nobody.Events) != 0 {
		t.Errorf("of nobody: %s", text)
	}
}

// What proves a sale is in no text of an event, and the file stays JSON.
func TestAPersonsEventsProveNothing(t *testing.T) {
	t.Parallel()
	f := reporttest.New(t)
	const token = reporttest.TokenOfOrders
	e := visit(f.Store.Live.CompanyID, ownBrowser, mariasEmail, "pay/"+token+"?a=b&"+token+"&visitor="+ownBrowser)
	e.Context.Page.Title, e.CookieID, e.SessionID = `"`+token+`"`, ownBrowser, ownBrowser
	e.Payload = json.RawMessage(`{"` + token + `":"line\n` + token + `\\` + token + `","name":"vestido-longo-de-festa-azul"}`)
	f.Came(e)
	file, text := exportOf(t, f, facts.Key{Kind: facts.KeyEmail, Value: mariasEmail})
	reporttest.WantNoProof(t, "the file", []byte(text))
	if len(file.Events) != 1 || strings.Contains(text, ownBrowser) || !strings.Contains(text, "vestido-longo-de-festa-azul") {
		t.Errorf("%s", text)
	}
}

// Decisions about an order and the personal fields are there.
func TestAPersonsOrdersAreWhole(t *testing.T) {
	t.Parallel()
	f := reporttest.New(t)
	company := f.Store.Live.CompanyID
	ana := f.Influencer(company, "Ana Prado")
	f.Put(reporttest.Order{CompanyID: company, ID: "1001", TotalMinor: 1000, InfluencerID: ana, Evidence: "link"})
	key := facts.Key{Kind: facts.KeyPhone, Value: "k1:p"}
	f.Key(company, "1001", key, time.Now())
	f.Decisions(company, "1001", ana, 2)
	file, text := exportOf(t, f, key)
	if len(file.Orders) != 1 || len(file.Orders[0].Decisions) != 2 || file.Orders[0].State == "" {
		t.Errorf("%s", text)
	}
	if strings.Contains(text, "Ana") || strings.Contains(text, ana) {
		t.Errorf("it says who is paid: %s", text)
	}
}

// An order whose e-mail was corrected is another's now. The version that had the person's is theirs: it is written, and nothing of what
// the order is now. One that is the person's still is written once, as it is.
func TestAnEarlierVersionThatNamedAPersonIsWritten(t *testing.T) {
	t.Parallel()
	f := reporttest.New(t)
	company, now := f.Store.Live.CompanyID, time.Now()
	email := facts.Key{Kind: facts.KeyEmail, Value: mariasEmail}
	version := func(id, email, zip string) {
		f.Version(company, wire.Order{OrderID: id, CreatedAt: now, EmailKey: wire.Some(email), ProvinceCode: wire.Some(zip), Currency: "BRL"})
	}
	f.Put(reporttest.Order{CompanyID: company, ID: "1001", TotalMinor: 1000})
	version("1001", mariasEmail, "SP")
	version("1001", strangers, "RJ")
	f.Key(company, "1001", facts.Key{Kind: facts.KeyEmail, Value: strangers}, now)
	f.Put(reporttest.Order{CompanyID: company, ID: "1002", TotalMinor: 1000})
	version("1002", mariasEmail, "SP")
	f.Key(company, "1002", email, now)
	file, text := exportOf(t, f, email)
	if len(file.Orders) != 1 || file.Orders[0].Order.OrderID != "1002" || len(file.Versions) != 1 ||
		file.Versions[0].Order.OrderID != "1001" || file.Versions[0].Order.ProvinceCode.Value != "SP" || !*file.Complete {
		t.Errorf("%s", text)
	}
	for _, not := range []string{mariasEmail, strangers, `"RJ"`} {
		if strings.Contains(text, not) {
			t.Errorf("the file has %s: %s", not, text)
		}
	}
	if other, text := exportOf(t, f, facts.Key{Kind: facts.KeyEmail, Value: strangers}); len(other.Orders) != 1 || len(other.Versions) != 0 {
		t.Errorf("whose the order is now: %s", text)
	}
}
