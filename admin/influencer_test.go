package admin_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
)

const anaPrado = `{"name":"Ana Prado","campaign":"Inverno","category":"moda","campaign_id":"inv26",
	"links":[{"url":"https://loja.example.com/a?x=1#top"},{"url":"https://loja.example.com/b"}],
	"coupons":[{"cupom":"ana10","start_date":"2026-01-01","end_date":"2026-06-30"}],
	"costs":[{"fixed_fee":2.50,"var_fee":10.5,"start_date":"2026-01-01","is_campaign_cost":true,"is_coupon_cost":true},
	         {"value":1500,"frequency":"monthly","start_date":"2026-01-01","end_date":"2026-12-31"}]}`

func TestRegisteredInfluencerIsListedAsSpecified(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	made := s.call("POST", "/admin/v1/influencers", s.live, anaPrado)
	s.want(made, 200, "")
	var urls []string
	if err := json.Unmarshal(made.Data, &urls); err != nil || len(urls) != 2 ||
		!strings.HasPrefix(urls[0], "go.example.com/s/") || urls[0] == urls[1] {
		t.Fatalf("data %s", made.Data)
	}
	listed := s.call("GET", "/admin/v1/influencers", s.live, "")
	s.want(listed, 200, "")
	var list []map[string]any
	if err := json.Unmarshal(listed.Data, &list); err != nil || len(list) != 1 {
		t.Fatalf("list %s", listed.Data)
	}
	blank := func(records any) {
		for _, r := range records.([]any) {
			r.(map[string]any)["id"] = "id"
		}
	}
	list[0]["id"] = "id"
	blank(list[0]["links"])
	blank(list[0]["coupons"])
	blank(list[0]["costs"])
	got, _ := json.Marshal(list[0])
	want := fmt.Sprintf(`{"campaigns":[{"id":"inv26","name":"Inverno"}],"category":"moda",`+
		`"costs":[{"attribution":"cupom","campaignId":"inv26","config":{"comissaoFixa":{"value":2.5},"comissaoVariavel":{"percentage":10.5}},`+
		`"endDate":"","id":"id","level":"campanha","startDate":"2026-01-01"},`+
		`{"attribution":"cupom_link","campaignId":"","config":{"porEntrega":{"frequency":"monthly","value":1500}},"endDate":"2026-12-31",`+
		`"id":"id","level":"influenciador","startDate":"2026-01-01"}],`+
		`"coupons":[{"campaignId":"inv26","code":"ANA10","endDate":"2026-06-30","id":"id","startDate":"2026-01-01"}],"id":"id",`+
		`"links":[{"campaignId":"inv26","id":"id","short_url":"%s","url":"https://loja.example.com/a?x=1#top"},{"campaignId":"inv26",`+
		`"id":"id","short_url":"%s","url":"https://loja.example.com/b"}],"name":"Ana Prado"}`, urls[0], urls[1])
	if string(got) != want {
		t.Errorf("listed\n%s\nwant\n%s", got, want)
	}
	// The sandbox is another company: it knows none of this.
	s.want(s.call("GET", "/sandbox/admin/v1/influencers", s.test, ""), 200, "")
	if sandbox := s.call("GET", "/sandbox/admin/v1/influencers", s.test, ""); string(sandbox.Data) != "[]" {
		t.Errorf("sandbox lists %s", sandbox.Data)
	}
}

func TestKnownNameAddsToThatInfluencer(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	s.want(s.call("POST", "/admin/v1/influencers", s.live, anaPrado), 200, "")
	link := `"links":[{"url":"https://loja.example.com/c"}]`
	f := func(status int, code, fields string) {
		t.Helper()
		s.want(s.call("POST", "/admin/v1/influencers", s.live, "{"+fields+","+link+"}"), status, code)
	}
	f(200, "", `"name":"  ANA  prádo","campaign":"INVERNO"`) // the same influencer and campaign, by folded name
	f(200, "", `"name":"Ana Prado","campaign_id":"inv26"`)
	f(200, "", `"name":"Ana Prado","campaign":"Verão"`)
	f(200, "", `"name":"Ana Prado"`)                                                          // a campaign without a name
	f(400, "validation_error", `"name":"Beto Lima","campaign_id":"inv26"`)                    // Ana's
	f(400, "validation_error", `"name":"Ana Prado","campaign_id":"inv26","campaign":"Outro"`) // another name
	var list []struct {
		Name      string
		Campaigns []struct{ ID, Name string }
		Links     []any
	}
	if err := json.Unmarshal(s.call("GET", "/admin/v1/influencers", s.live, "").Data, &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 1 || list[0].Name != "Ana Prado" || len(list[0].Campaigns) != 3 || len(list[0].Links) != 6 {
		t.Errorf("%+v", list)
	}
}

func TestConflictOnTheThirdCouponLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	s.want(s.call("POST", "/admin/v1/influencers", s.live, anaPrado), 200, "")
	got := s.call("POST", "/admin/v1/influencers", s.live, `{"name":"Beto Lima","links":[{"url":"https://loja.example.com/"}],
		"coupons":[{"cupom":"beto1"},{"cupom":"beto2"},{"cupom":" Ana10\u200b","start_date":"2026-06-30"},
			{"cupom":"BETO1","end_date":"2026-01-01"}],
		"costs":[{"fixed_fee":1,"start_date":"2026-01-01"}]}`)
	s.want(got, 409, "coupon_period_conflict")
	if len(got.Error.Details) != 2 {
		t.Fatalf("details %+v", got.Error.Details)
	}
	d := got.Error.Details[0]
	if d.Field != "coupons[2].cupom" || d.Influencer != "Ana Prado" || *d.StartDate != "2026-01-01" || *d.EndDate != "2026-06-30" ||
		!strings.Contains(d.Message, "Ana Prado") {
		t.Errorf("detail %+v", d)
	}
	if own := got.Error.Details[1]; own.Field != "coupons[3].cupom" || own.Influencer != "Beto Lima" || *own.EndDate != "" {
		t.Errorf("detail %+v", own)
	}
	if list := s.call("GET", "/admin/v1/influencers", s.live, ""); strings.Contains(string(list.Data), "Beto") {
		t.Errorf("left behind: %s", list.Data)
	}
	// The day after the period is free.
	s.want(s.call("POST", "/admin/v1/influencers", s.live,
		`{"name":"Beto Lima","links":[{"url":"https://loja.example.com/"}],"coupons":[{"cupom":"ANA10","start_date":"2026-07-01"}]}`), 200, "")
}

func TestRacingRequestsForOneCouponHaveOneWinner(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	var won, lost atomic.Int64
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			got := s.call("POST", "/admin/v1/influencers", s.live,
				fmt.Sprintf(`{"name":"I%d","links":[{"url":"https://loja.example.com/"}],"coupons":[{"cupom":"SAME"}]}`, i))
			switch got.Status {
			case 200:
				won.Add(1)
			case 409:
				lost.Add(1)
			default:
				t.Errorf("%d %+v", got.Status, got.Error)
			}
		})
	}
	group.Wait()
	if won.Load() != 1 || lost.Load() != 49 {
		t.Errorf("%d won, %d lost", won.Load(), lost.Load())
	}
}

func TestPagesAreStableUnderInserts(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	add := func(name string) {
		s.want(s.call("POST", "/admin/v1/influencers", s.live, `{"name":"`+name+`","links":[{"url":"https://loja.example.com/"}]}`), 200, "")
	}
	names := func(a answer) string {
		s.want(a, 200, "")
		var list []struct{ Name string }
		if err := json.Unmarshal(a.Data, &list); err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, i := range list {
			all = append(all, i.Name)
		}
		return strings.Join(all, " ")
	}
	for _, name := range []string{"a", "b", "c"} {
		add(name)
	}
	first := s.call("GET", "/admin/v1/influencers?limit=2", s.live, "")
	if got := names(first); got != "a b" || !first.Pagination.HasMore {
		t.Fatalf("%s %+v", got, first.Pagination)
	}
	add("d")
	second := s.call("GET", "/admin/v1/influencers?limit=2&cursor="+*first.Pagination.NextCursor, s.live, "")
	if got := names(second); got != "c d" || second.Pagination.HasMore || second.Pagination.NextCursor != nil {
		t.Errorf("%s %+v", got, second.Pagination)
	}
	if whole := s.call("GET", "/admin/v1/influencers", s.live, ""); names(whole) != "a b c d" || whole.Pagination != nil {
		t.Errorf("whole list: %s", whole.Data)
	}
	for _, query := range []string{"limit=0", "limit=101", "limit=x", "cursor=x", "cursor="} {
		s.want(s.call("GET", "/admin/v1/influencers?"+query, s.live, ""), 400, "validation_error")
	}
}

// The command line changes settings and has no hashing secret: who publishes the
// change adds the key check, without which an edge refuses the company's events.
func TestChangedSettingsAreInTheDirectoryWithTheirKeyCheck(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	id := s.store.Live.CompanyID
	_, _, err := s.db.ChangeSettings(t.Context(), commerce.SettingsChange{CompanyID: id, Actor: "cli", Change: func(s *commerce.Settings) {
		s.Origins, s.ConsentPolicy, s.Limits = []string{"https://loja.example.com"}, commerce.ConsentRequired,
			wire.Limits{EventsPerSecond: 50, Burst: 600}
	}})
	if err != nil {
		t.Fatal(err)
	}
	var company wire.Company
	s.read(wire.TopicDirectory, 1, func(r kafka.Record) bool {
		var c wire.Company
		if string(r.Key) != wire.CompanyKeyPrefix+id {
			return false
		}
		if err := json.Unmarshal(r.Value, &c); err != nil {
			t.Error(err)
		}
		if c.KeyCheck != s.hasher.Check(id) {
			t.Errorf("revision %d has the key check %q", c.Rev, c.KeyCheck)
		}
		company = c
		return len(c.Origins) > 0
	})
	if company.ConsentPolicy != wire.ConsentRequired || company.Limits != (wire.Limits{EventsPerSecond: 50, Burst: 600}) ||
		company.Origins[0] != "https://loja.example.com" {
		t.Errorf("%+v", company)
	}
}

func TestOutboxTellsTheDirectoryAndTheProcessor(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	made := s.call("POST", "/admin/v1/influencers", s.live, anaPrado)
	s.want(made, 200, "")
	var urls []string
	if err := json.Unmarshal(made.Data, &urls); err != nil {
		t.Fatal(err)
	}
	var company wire.Company
	var link wire.Link
	var installation wire.Installation
	s.read(wire.TopicDirectory, 1, func(r kafka.Record) bool {
		switch string(r.Key) {
		case wire.InstallationKey:
			if err := json.Unmarshal(r.Value, &installation); err != nil {
				t.Error(err)
			}
		case wire.CompanyKeyPrefix + s.store.Live.CompanyID:
			if err := json.Unmarshal(r.Value, &company); err != nil {
				t.Error(err)
			}
		case wire.LinkKeyPrefix + strings.TrimPrefix(urls[0], "go.example.com/s/"):
			if err := json.Unmarshal(r.Value, &link); err != nil {
				t.Error(err)
			}
		}
		return company.Rev > 0 && link.Rev > 0 && installation.ShortBase == "go.example.com/s"
	})
	if company.KeyCheck != s.hasher.Check(s.store.Live.CompanyID) || company.Environment != "live" || company.Country != "BR" {
		t.Errorf("company %+v", company)
	}
	if link.CompanyID != s.store.Live.CompanyID || link.URL != "https://loja.example.com/a?x=1#top" || link.Influencer != "Ana Prado" ||
		link.Campaign != "Inverno" || link.CampaignID != "inv26" {
		t.Errorf("link %+v", link)
	}
	var kinds []string
	s.read(wire.TopicCommerce, 8, func(r kafka.Record) bool {
		var c wire.Commerce
		var rule wire.Rule
		if err := json.Unmarshal(r.Value, &c); err != nil {
			t.Error(err)
		}
		if err := json.Unmarshal(c.Body, &rule); err != nil {
			t.Error(err)
		}
		if string(r.Key) != s.store.Live.CompanyID || c.Kind != wire.KindRule || c.Rev != link.Rev || !strings.HasPrefix(c.Actor, "key/key_") ||
			rule.InfluencerID != link.InfluencerID {
			t.Errorf("record %s %s", r.Key, r.Value)
		}
		kinds = append(kinds, fmt.Sprint(rule.Type, " ", rule.Change, " ", rule.Code))
		return len(kinds) == 7
	})
	if got := strings.Join(kinds,
		","); got != "influencer created ,campaign created ,link created ,link created ,coupon created ANA10,cost created ,cost created " {
		t.Errorf("rules: %s", got)
	}
}
