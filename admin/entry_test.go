package admin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/devtest"
)

// A manual entry is on Kafka before it is answered; the same one again is the same entry, and another of its id is refused.
func TestAManualEntryIsAddedOnce(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	s.want(s.call("POST", "/admin/v1/influencers", s.live,
		`{"name":"Ana Prado","campaign":"Inverno","links":[{"url":"https://loja.example.com/"}]}`), 200, "")
	ana := s.influencerID()
	writer := s.key(s.store.Live.CompanyID, account.WriteLedger)
	const id = "0195B2C0-0000-4000-8000-000000000001"
	body := func(id, influencer, amount, more string) string {
		return fmt.Sprintf(`{"entry_id":%q,"influencer_id":%q,"amount":%s,"currency":"BRL","reason":"Best video"%s}`, id, influencer,
			amount, more)
	}
	today := time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly)
	advance := body(id, ana, "1500.50", `,"kind":"advance","date":"`+today+`"`)
	for range 2 {
		got := s.call("POST", "/admin/v1/ledger", writer, advance)
		s.want(got, 200, "")
		if string(got.Data) != `{"entry_id":"entry/0195b2c0-0000-4000-8000-000000000001"}` {
			t.Errorf("%s", got.Data)
		}
	}
	for name, f := range map[string]struct {
		key, body string
		status    int
		code      string
	}{
		"another of its id":    {writer, body(id, ana, "1500.51", `,"kind":"advance","date":"`+today+`"`), 409, "entry_exists"},
		"another kind":         {writer, body(id, ana, "1500.50", `,"kind":"bonus","date":"`+today+`"`), 409, "entry_exists"},
		"unknown influencer":   {writer, body(id, id, "1", `,"kind":"bonus"`), 404, "not_found"},
		"a key that may not":   {s.key(s.store.Live.CompanyID, account.WriteInfluencers), advance, 403, "insufficient_scope"},
		"of the sandbox":       {s.test, advance, 401, "unauthorized"},
		"nothing":              {writer, `{}`, 400, "validation_error"},
		"three decimals":       {writer, body(id, ana, "1.505", `,"kind":"bonus"`), 400, "validation_error"},
		"in the future":        {writer, body(id, ana, "1", `,"kind":"bonus","date":"2199-01-01"`), 400, "invalid_date"},
		"a product's amount":   {writer, body(id, ana, "1", `,"kind":"product"`), 400, "validation_error"},
		"a bonus that takes":   {writer, body(id, ana, "-1", `,"kind":"bonus"`), 400, "validation_error"},
		"a kind of an order's": {writer, body(id, ana, "1", `,"kind":"earned"`), 400, "validation_error"},
	} {
		got := s.call("POST", "/admin/v1/ledger", f.key, f.body)
		if got.Status != f.status || got.Error.Code != f.code {
			t.Errorf("%s: %d %+v, want %d %s", name, got.Status, got.Error, f.status, f.code)
		}
	}
	s.want(s.call("POST", "/admin/v1/ledger", writer,
		body("0195b2c0-0000-4000-8000-000000000002", ana, "-3", `,"kind":"adjustment"`)), http.StatusOK, "")
	minor := map[string]int64{}
	s.read(wire.TopicCommerce, devtest.Partitions, func(r kafka.Record) bool {
		var c wire.Commerce
		var e wire.Entry
		if json.Unmarshal(r.Value, &c) == nil && c.Kind == wire.KindEntry && json.Unmarshal(c.Body, &e) == nil {
			if e.EntryID != c.ID || e.InfluencerID != ana || e.Reason != "Best video" || e.Currency != "BRL" || c.Actor == "" {
				t.Errorf("%+v", e)
			}
			minor[e.Kind] = e.AmountMinor
		}
		return len(minor) == 2
	})
	if minor["advance"] != -150_050 || minor["adjustment"] != -300 {
		t.Errorf("%v", minor)
	}
}
