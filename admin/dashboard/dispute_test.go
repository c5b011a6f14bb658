package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

// A dispute is decided on the order's page: with a reason, after a before and after.
func TestADisputeIsDecidedOnThePage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner := s.loggedIn()
	list := s.soldByOther(owner)
	at := "?company=" + s.live + "&id=1001"
	page := "/dashboard/order/decide" + at
	text := s.readAs(owner, page)
	if !contains(text, "Decide about order", "Give the order to the influencer", list[0].Name) {
		t.Fatalf("the form reads %q", text)
	}
	form := url.Values{"influencer": {list[0].InfluencerID}, "decision": {"assign"}, "reason": {"she forgot the coupon"},
		"version": {s.versionAt(owner, page, "/dashboard/order/decide")}}
	for name, value := range map[string]string{"reason": "  ", "influencer": "", "decision": "accept"} {
		if status, _, _ := s.send(owner, page, changed(form, name, value)); status != http.StatusUnprocessableEntity {
			t.Errorf("%s %q: %d", name, value, status)
		}
	}
	status, raw, _ := s.send(owner, page, form)
	if status != http.StatusOK || !contains(raw, "This is what your decision changes", "Ana Prado: R$\u00a020.00", "she forgot the coupon",
		`value="save"`) {
		t.Fatalf("asked: %d %q", status, raw)
	}
	if log, err := s.DB.AuditLog(t.Context(), s.live, "", "order.assign", 10); err != nil || len(log) != 0 {
		t.Errorf("decided before it was confirmed: %+v, %v", log, err)
	}
	form.Set("step", "save")
	if status, _, to := s.send(owner, page, form); status != http.StatusSeeOther || !strings.Contains(to, "decided_assign") {
		t.Errorf("confirmed: %d to %q", status, to)
	}
	if status, text := s.sendFrom(owner, page, page, changed(form, "decision", "deny")); status != http.StatusConflict ||
		!contains(text, "You changed this on") {
		t.Errorf("of another tab: %d", status)
	}
	log, err := s.DB.AuditLog(t.Context(), s.live, "", "order.assign", 10)
	if err != nil || len(log) != 1 || !strings.Contains(log[0].Detail, "she forgot the coupon") {
		t.Errorf("%+v, %v", log, err)
	}
	analyst := s.join(account.RoleAnalyst, "bia@loja.example", s.Store.StoreID)
	if status, _, _ := s.send(analyst, page, form); status != http.StatusForbidden {
		t.Errorf("an analyst: %d", status)
	}
}

// To refuse for good is asked first.
func TestToRefuseForGoodIsAskedFirst(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner := s.loggedIn()
	putOdd(s)
	list, err := s.DB.Reviews(t.Context(), s.live, commerce.Cursor{}, 10)
	if err != nil || len(list) != 1 {
		t.Fatal(err)
	}
	path := "/dashboard/order/evidence?company=" + s.live + "&id=waits"
	form := url.Values{"influencer": {list[0].InfluencerID}, "decision": {"refuse"}}
	status, text, _ := s.send(owner, path, form)
	if status != http.StatusOK || !contains(text, "Refuse this commission for good?") {
		t.Fatalf("%d %q", status, text)
	}
	if log, err := s.DB.AuditLog(t.Context(), s.live, "", "order.evidence", 10); err != nil || len(log) != 0 {
		t.Errorf("%+v, %v", log, err)
	}
	form.Set("step", "save")
	if status, _, _ := s.send(owner, path, form); status != http.StatusSeeOther {
		t.Errorf("%d", status)
	}
}
