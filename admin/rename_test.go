package admin_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/internal/commerce"
)

// A renamed influencer is found by both names, and nobody else can have either.
func TestAnInfluencerIsRenamed(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	const path = "/admin/v1/influencers"
	link := `,"links":[{"url":"https://loja.example.com/"}]}`
	f := func(method, path, body string, status int, code, field, says string) {
		t.Helper()
		got := s.call(method, path, s.live, body)
		if s.want(got, status, code); field == "" {
			return
		}
		if got.Error == nil || len(got.Error.Details) != 1 || got.Error.Details[0].Field != field ||
			!strings.Contains(got.Error.Details[0].Message, says) {
			t.Errorf("%s %s: %+v, want %s: %s", path, body, got.Error, field, says)
		}
	}
	f("POST", path, `{"name":"Ana Prado"`+link, 200, "", "", "")
	f("POST", path, `{"name":"Bia"`+link, 200, "", "", "")
	f("PUT", path, `{"name":"ana prádo","new_name":" Ana Lima "}`, 200, "", "", "")
	f("PUT", path, `{"name":"Ana Prado","new_name":"Ana Lima","category":"casa"}`, 200, "", "", "")
	f("PUT", path, `{"name":"Bia","new_name":"ANA PRADO"}`, 409, "name_taken", "new_name", "is or was the name of Ana Lima")
	f("PUT", path, `{"name":"Bia","new_name":"ana lima","category":"moda"}`, 409, "name_taken", "new_name", "is or was the name of Ana Lima")
	f("POST", "/admin/v1/preview", `{"change":{"type":"influencer.update","name":"Bia","new_name":"Ana Prado"}}`, 409, "name_taken",
		"change.new_name", "Ana Lima")
	f("POST", "/admin/v1/preview", `{"change":{"type":"influencer.update","name":"Bia","new_name":"Bia Reis"}}`, 200, "", "", "")
	f("PUT", path, `{"name":"Nobody","new_name":"X"}`, 404, "not_found", "", "")
	f("PUT", path, `{"name":"Bia","new_name":""}`, 400, "validation_error", "new_name", "empty")
	f("PUT", path, `{"name":"Bia","new_name":"\u200b"}`, 400, "validation_error", "new_name", "")
	f("PUT", path, `{"name":"Bia","new_name":"`+strings.Repeat("x", commerce.MaxName+1)+`"}`, 400, "validation_error", "new_name", "")
	f("POST", path, `{"name":"Ana Prado"`+link, 200, "", "", "")
	f("POST", path+"/costs", `{"name":"Ana Prado","var_fee":10,"start_date":"2026-01-01"}`, 200, "", "", "")
	var list []struct {
		Name, Category string
		FormerNames    []string `json:"former_names"`
		Links, Costs   []any
	}
	if err := json.Unmarshal(s.call("GET", path, s.live, "").Data, &list); err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	if got := fmt.Sprintf("%s (%s) was %q, %d links, %d costs; %s was %q", list[0].Name, list[0].Category, list[0].FormerNames,
		len(list[0].Links), len(list[0].Costs), list[1].Name, list[1].FormerNames); got !=
		`Ana Lima (casa) was ["Ana Prado"], 2 links, 1 costs; Bia was []` {
		t.Error(got)
	}
	f("DELETE", path, `{"name":"Ana Prado"}`, 200, "", "", "")
	f("POST", path, `{"name":"Ana Prado"`+link, 409, "name_taken", "name", "Ana Lima, who is archived")
	f("PUT", path, `{"name":"Bia","new_name":"Ana Prado"}`, 409, "name_taken", "new_name", "Ana Lima, who is archived")
	f("POST", path+"/restore", `{}`, 400, "validation_error", "name", "required")
	f("POST", path+"/restore", `{"name":"Bia"}`, 404, "not_found", "", "")
	restored := s.call("POST", path+"/restore", s.live, `{"name":"ana prado"}`)
	s.want(restored, 200, "")
	if got := string(restored.Data); !strings.Contains(got, `"links":2,"coupons":0,"taken":[]`) {
		t.Error(got)
	}
	f("POST", path+"/restore", `{"name":"ana prado"}`, 404, "not_found", "", "")
	for k := range commerce.MaxNames - 2 {
		f("PUT", path, fmt.Sprintf(`{"name":"Ana Lima","new_name":"Name %d"}`, k), 200, "", "", "")
	}
	f("PUT", path, `{"name":"Ana Lima","new_name":"One more"}`, 400, "validation_error", "new_name", "has had 20 names")
}

// An archived influencer whose name somebody else has now is not taken back.
func TestARestoreIsRefusedWhereTheNameIsTaken(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	body := `{"name":"Ana","links":[{"url":"https://loja.example.com/"}]}`
	s.want(s.call("POST", "/admin/v1/influencers", s.live, body), 200, "")
	s.want(s.call("DELETE", "/admin/v1/influencers", s.live, `{"name":"Ana"}`), 200, "")
	s.want(s.call("POST", "/admin/v1/influencers", s.live, body), 200, "")
	refused := s.call("POST", "/admin/v1/influencers/restore", s.live, `{"name":"Ana"}`)
	s.want(refused, 409, "name_taken")
	if !strings.Contains(refused.Error.Message, "archive the one who has it now") {
		t.Errorf("%+v", refused.Error)
	}
	s.want(s.call("POST", "/admin/v1/preview", s.live, `{"change":{"type":"influencer.restore","name":"Ana"}}`), 409, "name_taken")
	s.want(s.call("PUT", "/admin/v1/influencers", s.live, `{"name":"Ana","new_name":"Ana Lima"}`), 200, "")
	s.want(s.call("POST", "/admin/v1/influencers/restore", s.live, `{"name":"Ana"}`), 409, "name_taken") // for ever
}
