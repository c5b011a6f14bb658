package admin_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
)

// outcomes is the data of DELETE operations.
type outcomes struct {
	Message string
	Data    []struct {
		Message string
		Status  int
	}
}

func (s *service) outcomes(a answer) outcomes {
	s.t.Helper()
	var o outcomes
	if err := json.Unmarshal(a.Data, &o); err != nil || o.Message == "" {
		s.t.Errorf("data %s: %v", a.Data, err)
	}
	return o
}

func TestCategoryIsUpdatedByName(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	s.want(s.call("POST", "/admin/v1/influencers", s.live, anaPrado), 200, "")
	put := func(body string) answer { return s.call("PUT", "/admin/v1/influencers", s.live, body) }
	if got := put(`{"name":"ANA PRADO","category":"viagem"}`); got.Data != nil {
		t.Errorf("data %s", got.Data)
	} else {
		s.want(got, 200, "")
	}
	if list := s.call("GET", "/admin/v1/influencers", s.live, ""); !strings.Contains(string(list.Data), `"category":"viagem"`) {
		t.Errorf("%s", list.Data)
	}
	s.want(put(`{"name":"Ninguém","category":"x"}`), 404, "not_found")
	s.want(put(`{"name":"Ana Prado"}`), 400, "validation_error")
	s.want(s.call("PUT", "/sandbox/admin/v1/influencers", s.test, `{"name":"Ana Prado","category":"x"}`), 404, "not_found")
}

func TestCouponsOfACampaignComeAndGo(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	s.want(s.call("POST", "/admin/v1/influencers", s.live, anaPrado), 200, "")
	const path = "/admin/v1/influencers/coupons"
	conflict := s.call("POST", path, s.live, `{"campaign_id":"inv26","cupom":"ana10","start_date":"2026-06-01"}`)
	s.want(conflict, 409, "coupon_period_conflict")
	if d := conflict.Error.Details; len(d) != 1 || d[0].Field != "cupom" || d[0].Influencer != "Ana Prado" {
		t.Errorf("details %+v", d)
	}
	made := s.call("POST", path, s.live, `{"campaign_id":"inv26","cupom":"ana10","start_date":"2026-07-01"}`)
	s.want(made, 200, "")
	var coupon map[string]string
	if err := json.Unmarshal(made.Data, &coupon); err != nil || coupon["id"] == "" || coupon["code"] != "ANA10" ||
		coupon["campaignId"] != "inv26" || coupon["startDate"] != "2026-07-01" || coupon["endDate"] != "" {
		t.Errorf("%s %v", made.Data, err)
	}
	s.want(s.call("POST", path, s.live, `{"campaign_id":"none","cupom":"X"}`), 404, "not_found")
	s.want(s.call("POST", path, s.live, `{"cupom":"X","start_date":"x"}`), 400, "validation_error")
	s.want(s.call("POST", path, s.live, `{"campaign_id":"inv26","cupom":"X","start_date":"x"}`), 400, "invalid_date")

	gone := s.call("DELETE", path, s.live, `{"campaign_id":"inv26","cupom":" ana10 "}`)
	s.want(gone, 200, "")
	if o := s.outcomes(gone); len(o.Data) != 2 || o.Data[0].Status != 200 {
		t.Errorf("%+v", o)
	}
	again := s.call("DELETE", path, s.live, `{"campaign_id":"inv26","cupom":"ANA10"}`)
	s.want(again, 404, "not_found")
	if o := s.outcomes(again); len(o.Data) != 1 || o.Data[0].Status != 404 {
		t.Errorf("%+v", o)
	}
	// The code is free again.
	s.want(s.call("POST", path, s.live, `{"campaign_id":"inv26","cupom":"ana10"}`), 200, "")
}

// docs/attribution.md, "Payout", 4: the answer tells which costs a new one replaces.
func TestACostThatReplacesAnotherSaysSo(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	s.want(s.call("POST", "/admin/v1/influencers", s.live,
		`{"name":"Ana","campaign":"Inverno","campaign_id":"inv","links":[{"url":"https://loja.example.com/"}]}`), 200, "")
	const path = "/admin/v1/influencers/costs"
	add := func(terms string, wantReplaced ...string) string {
		t.Helper()
		got := s.call("POST", path, s.live, `{"name":"Ana","start_date":"2026-01-01",`+terms+`}`)
		s.want(got, 200, "")
		var data map[string]string
		if err := json.Unmarshal(got.Data, &data); err != nil {
			t.Fatalf("%s: %v", got.Data, err)
		}
		want := ""
		if len(wantReplaced) > 0 {
			slices.Sort(wantReplaced)
			want = "from 2026-01-01 on it counts in place of " + strings.Join(wantReplaced, ", ") + ", which differs only in amount or was removed"
		}
		if data["note"] != want {
			t.Errorf("%s: note %q, want %q", terms, data["note"], want)
		}
		return data["cost_id"]
	}
	share := add(`"var_fee":10`)
	fee := add(`"fixed_fee":5`)
	add(`"var_fee":10,"is_coupon_cost":true`)
	add(`"var_fee":10,"end_date":"2026-12-31"`)
	add(`"var_fee":10,"is_campaign_cost":true,"campaign_id":"inv"`)
	add(`"value":10,"frequency":"daily"`)
	again := add(`"var_fee":12`, share)
	s.want(s.call("DELETE", path, s.live, `{"cost_id":"`+fee+`"}`), 200, "")
	add(`"fixed_fee":6,"end_date":"2026-11-30"`, fee)
	add(`"var_fee":12`, share, again, fee)
}

func TestCostsOfAnInfluencerComeAndGo(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	s.want(s.call("POST", "/admin/v1/influencers", s.live, anaPrado), 200, "")
	s.want(s.call("POST", "/admin/v1/influencers", s.live, `{"name":"Sem Custo","links":[{"url":"https://loja.example.com/"}]}`), 200, "")
	const path = "/admin/v1/influencers/costs"
	type group struct {
		Name    string
		ID      string `json:"influencer_cost_id"`
		Details []map[string]any
	}
	list := func() (groups []group) {
		t.Helper()
		got := s.call("GET", path, s.live, "")
		s.want(got, 200, "")
		if err := json.Unmarshal(got.Data, &groups); err != nil {
			t.Fatal(err)
		}
		return groups
	}
	groups := list()
	if len(groups) != 1 || groups[0].Name != "Ana Prado" || len(groups[0].Details) != 2 {
		t.Fatalf("%+v", groups)
	}
	d := groups[0].Details[0]
	if d["fixed_fee"] != 2.5 || d["var_fee"] != 10.5 || d["value"] != 0.0 || d["start_date"] != "2026-01-01" || d["end_date"] != "" ||
		d["frequency"] != "" ||
		d["campaign_cost_id"] != d["cost_id"] || d["campaign"] != "Inverno" || d["is_campaign_cost"] != true || d["is_coupon_cost"] != true {
		t.Errorf("%+v", d)
	}
	made := s.call("POST", path, s.live,
		`{"name":"ana prado","campaign_id":"inv26","is_campaign_cost":true,"var_fee":5,"start_date":"2026-02-01"}`)
	s.want(made, 200, "")
	var ids map[string]string
	if err := json.Unmarshal(made.Data, &ids); err != nil || ids["influencer_cost_id"] != groups[0].ID || ids["cost_id"] == "" ||
		ids["campaign_cost_id"] != ids["cost_id"] {
		t.Errorf("%s %v", made.Data, err)
	}
	post := func(body string) answer { return s.call("POST", path, s.live, body) }
	s.want(post(`{"name":"Ninguém","var_fee":5,"start_date":"2026-02-01"}`), 404, "not_found")
	s.want(post(`{"name":"Ana Prado","campaign_id":"none","var_fee":5,"start_date":"2026-02-01"}`), 404, "not_found")
	s.want(post(`{"name":"Sem Custo","campaign_id":"inv26","var_fee":5,"start_date":"2026-02-01"}`), 400, "validation_error")
	s.want(post(`{"name":"Ana Prado","is_campaign_cost":true,"var_fee":5,"start_date":"2026-02-01"}`), 400, "validation_error")

	del := func(body string) answer { return s.call("DELETE", path, s.live, body) }
	influencerLevel := groups[0].Details[1]["cost_id"].(string)
	s.want(del(`{}`), 400, "validation_error")
	s.want(del(`{"cost_id":"x"}`), 404, "not_found")
	s.want(del(`{"campaign_cost_id":"`+influencerLevel+`"}`), 404, "not_found") // no campaign's
	s.want(del(`{"campaign_cost_id":"`+ids["cost_id"]+`"}`), 200, "")
	gone := del(`{"cost_id":"` + influencerLevel + `"}`)
	s.want(gone, 200, "")
	if o := s.outcomes(gone); len(o.Data) != 1 || o.Data[0].Status != 200 {
		t.Errorf("%+v", o)
	}
	s.want(del(`{"cost_id":"`+influencerLevel+`"}`), 404, "not_found")
	if groups = list(); len(groups) != 1 || len(groups[0].Details) != 1 {
		t.Errorf("%+v", groups)
	}
}

func TestArchivedInfluencerFreesNameAndCouponsAndStopsItsLinks(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	made := s.call("POST", "/admin/v1/influencers", s.live, anaPrado)
	s.want(made, 200, "")
	s.want(s.call("POST", "/admin/v1/influencers", s.live,
		`{"name":"Ana Prado","campaign_id":"ver26","links":[{"url":"https://loja.example.com/"}],"coupons":[{"cupom":"ANAV"}]}`), 200, "")
	del := func(body string) answer { return s.call("DELETE", "/admin/v1/influencers", s.live, body) }
	s.want(del(`{"name":"Ninguém"}`), 404, "not_found")
	s.want(del(`{"name":"Ana Prado","campaign_id":"none"}`), 404, "not_found")
	one := del(`{"name":"Ana Prado","campaign_id":"ver26"}`)
	s.want(one, 200, "")
	if o := s.outcomes(one); len(o.Data) != 1 || !strings.Contains(o.Data[0].Message, "ver26") {
		t.Errorf("%+v", o)
	}
	list := s.call("GET", "/admin/v1/influencers", s.live, "")
	if !strings.Contains(string(list.Data), "inv26") || strings.Contains(string(list.Data), "ver26") ||
		strings.Contains(string(list.Data), "ANAV") {
		t.Errorf("%s", list.Data)
	}
	s.want(del(`{"name":"ana prado"}`), 200, "")
	if list = s.call("GET", "/admin/v1/influencers", s.live, ""); string(list.Data) != "[]" {
		t.Errorf("%s", list.Data)
	}
	var urls []string
	if err := json.Unmarshal(made.Data, &urls); err != nil {
		t.Fatal(err)
	}
	key := wire.LinkKeyPrefix + strings.TrimPrefix(urls[0], "go.example.com/s/")
	s.read(wire.TopicDirectory, 1, func(r kafka.Record) bool { return string(r.Key) == key && r.Value == nil })
	// Name and code are free; the old campaign's id stays the old influencer's.
	again := strings.Replace(anaPrado, "inv26", "inv27", 1)
	s.want(s.call("POST", "/admin/v1/influencers", s.live, anaPrado), 400, "validation_error")
	s.want(s.call("POST", "/admin/v1/influencers", s.live, again), 200, "")
}
