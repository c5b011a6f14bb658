package admin_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/preview"
)

// A preview is refused as the change itself would be, with the path of the field, and
// needs the scope of the change. It makes nothing: what it previewed can still be made.
func TestAPreviewIsRefusedAsItsChangeIs(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	ask := func(key, change string) answer {
		return s.call("POST", "/admin/v1/preview", key, `{"change":`+change+`}`)
	}
	const ana = `{"type":"influencer.create","name":"Ana Prado","campaign":"Inverno","campaign_id":"inverno-26",` +
		`"links":[{"url":"https://loja.example.com/"}],"coupons":[{"cupom":"ANA10"}]}`
	got := ask(s.live, ana)
	s.want(got, 200, "")
	var found preview.Answer
	if err := json.Unmarshal(got.Data, &found); err != nil || found.Orders != (preview.Orders{}) ||
		!strings.Contains(string(got.Data), `"moves":[]`) {
		t.Errorf("%s, %v", got.Data, err)
	}
	s.want(s.call("GET", "/admin/v1/influencers", s.live, ""), 200, "")
	if list := s.call("GET", "/admin/v1/influencers", s.live, ""); string(list.Data) != "[]" {
		t.Errorf("after the preview there is %s", list.Data)
	}
	s.want(s.call("POST", "/admin/v1/influencers", s.live, strings.Replace(ana, `"type":"influencer.create",`, "", 1)), 200, "")

	f := func(name, key, change string, status int, code, field string) {
		t.Helper()
		got := ask(key, change)
		if got.Error == nil || got.Status != status || got.Error.Code != code {
			t.Errorf("%s: %d %+v, want %d %s", name, got.Status, got.Error, status, code)
			return
		}
		if field != "" && (len(got.Error.Details) == 0 || got.Error.Details[0].Field != field) {
			t.Errorf("%s: %+v, want the field %s", name, got.Error.Details, field)
		}
	}
	coupon := `{"type":"coupon.create","campaign_id":"inverno-26","cupom":"ANA10"}`
	f("a coupon that is there", s.live, coupon, 409, "coupon_period_conflict", "change.cupom")
	f("another campaign", s.live, `{"type":"coupon.create","campaign_id":"x","cupom":"B"}`, 404, "not_found", "")
	f("no code", s.live, `{"type":"coupon.create","campaign_id":"inverno-26"}`, 400, "validation_error", "change.cupom")
	f("a coupon that is not there", s.live, `{"type":"coupon.delete","campaign_id":"inverno-26","cupom":"NO"}`, 404, "not_found", "")
	f("a cost that is not there", s.live, `{"type":"cost.delete","cost_id":"x"}`, 404, "not_found", "")
	f("a cost without a rate", s.live, `{"type":"cost.create","name":"Ana Prado","start_date":"2026-11-01"}`, 400, "validation_error", "")
	f("an order that is not there", s.live,
		`{"type":"order.evidence","orderId":"1","influencer_id":"01938a4e-6f5a-7c11-a6c1-0d3cf5a0a5b2","decision":"accept"}`,
		404, "not_found", "")
	f("an unknown change", s.live, `{"type":"order.delete"}`, 400, "validation_error", "change.type")
	f("no type", s.live, `{}`, 400, "validation_error", "change.type")
	f("no object", s.live, `[]`, 400, "validation_error", "change")
	f("nothing", s.live, `null`, 400, "validation_error", "change")
	s.want(s.call("POST", "/admin/v1/preview", s.live, `{}`), 400, "validation_error")
	decides := s.key(s.store.Live.CompanyID, account.WriteEvidence)
	f("without the scope of coupons", decides, coupon, 403, "insufficient_scope", "")
	f("without the scope of decisions", s.key(s.store.Live.CompanyID, account.WriteInfluencers), `{"type":"order.evidence","orderId":"1"}`,
		403, "insufficient_scope", "")
	f("of the other environment", s.test, `{"type":"influencer.archive","name":"Ana Prado"}`, 401, "unauthorized", "")
	s.want(ask(s.live, `{"type":"influencer.archive","name":"Ana Prado"}`), 200, "")
	// What is not known in it is told, or refused where that is asked.
	const misspelt = `{"change":{"type":"cost.create","name":"Ana Prado","var_fee":1,"start_date":"2026-11-01","is_cupon_cost":true},` +
		`"chance":1}`
	got = s.call("POST", "/admin/v1/preview", s.live, misspelt)
	s.want(got, 200, "")
	if len(got.Warnings) != 2 || got.Warnings[0].Field != "chance" || got.Warnings[1].Field != "change.is_cupon_cost" ||
		!strings.Contains(got.Warnings[1].Message, "is_coupon_cost?") {
		t.Errorf("%+v", got.Warnings)
	}
	got = s.call("POST", "/admin/v1/preview", s.live, strings.Replace(misspelt, `,"chance":1`, "", 1), "Prefer", "handling=strict")
	if s.want(got, 400, "validation_error"); got.Error.Details[0].Field != "change.is_cupon_cost" ||
		got.Header.Get("Preference-Applied") != "handling=strict" {
		t.Errorf("%+v", got.Error)
	}
	s.want(ask(s.live, `{"type":"coupon.delete","campaign_id":"inverno-26","cupom":"ana10"}`), 200, "")
}
