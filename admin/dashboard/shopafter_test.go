package dashboard_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/test/devtest"
)

// A connection is paused, goes on, is changed, read again and ended; a form of another tab changes nothing.
func TestAConnectionIsLookedAfter(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	service := s.connectService()
	id := s.connected(owner, service)
	service.become(id, commerce.ConnectionLive, "", "")
	state := func(want commerce.ConnectionState) {
		t.Helper()
		if c, err := s.DB.Connection(t.Context(), s.live, id); err != nil || c.State != want {
			t.Errorf("%s %v, want %s", c.State, err, want)
		}
	}
	do := func(what string, more url.Values) (int, string) {
		t.Helper()
		values := changed(more, "id", id)
		if values.Get("version") == "" {
			values.Set("version", s.versionOf(id))
		}
		return s.sendFrom(owner, s.shopPage(id), "/dashboard/shops/"+what+at, values)
	}
	old := s.versionAt(owner, s.shopPage(id), "/dashboard/shops/pause")
	if status, text := do("pause", nil); status != http.StatusSeeOther {
		t.Fatalf("%d %s", status, text)
	}
	state(commerce.ConnectionPaused)
	if text := s.readAs(owner, s.shopPage(id)); !contains(text, "Paused", "Nothing is read until you go on", "Go on") {
		t.Errorf("%s", text)
	}
	if status, text := do("end", url.Values{"version": {old}}); status != http.StatusConflict || !contains(text, "You changed this on") {
		t.Errorf("from another tab: %d %s", status, text)
	}
	state(commerce.ConnectionPaused)
	if status, text := do("retry", nil); status != http.StatusConflict || !contains(text, "in which this cannot be done") {
		t.Errorf("retry while it is paused: %d %s", status, text)
	}
	if status, _ := do("resume", nil); status != http.StatusSeeOther {
		t.Errorf("resume: %d", status)
	}
	state(commerce.ConnectionConnecting)
	for _, what := range []string{"test", "retry", "compare"} {
		if status, text := do(what, nil); status != http.StatusSeeOther {
			t.Errorf("%s: %d %s", what, status, text)
		}
	}
	if status, text := do("backfill", url.Values{"days": {"0"}}); status != http.StatusUnprocessableEntity ||
		!contains(text, "must be a whole number from 1 to 730") {
		t.Errorf("backfill of nothing: %d %s", status, text)
	}
	if status, _ := do("backfill", url.Values{"days": {"90"}}); status != http.StatusSeeOther {
		t.Errorf("backfill: %d", status)
	}
	kinds := map[string]bool{}
	for _, task := range service.work(myShop) {
		kinds[task.Kind] = true
		if task.Kind == commerce.TaskBackfill && string(task.Question) != `{"days": 90}` && string(task.Question) != `{"days":90}` {
			t.Errorf("the question: %s", task.Question)
		}
	}
	if !kinds["test"] || !kinds["retry"] || !kinds["compare"] || !kinds["backfill"] {
		t.Errorf("the tasks: %v", kinds)
	}
	changes := url.Values{"poll_every": {"300"}, "commissions_from": {"2026-01-02"}}
	if status, text := do("change", changed(changes, "poll_every", "1")); status != http.StatusUnprocessableEntity {
		t.Errorf("read every second: %d %s", status, text)
	}
	before := s.versionOf(id)
	if status, text := do("change", changes); status != http.StatusSeeOther {
		t.Errorf("change: %d %s", status, text)
	}
	if status, text := do("change", changed(changes, "version", before)); status != http.StatusConflict ||
		!contains(text, "You changed this on") {
		t.Errorf("change from another tab: %d %s", status, text)
	}
	if text := s.readAs(owner, s.shopPage(id)); !contains(text, "every 5 minutes", "from 2 Jan 2026 on") {
		t.Errorf("%s", text)
	}
	if status, text := do("end", nil); status != http.StatusSeeOther {
		t.Errorf("end: %d %s", status, text)
	}
	state(commerce.ConnectionEnded)
	if text := s.readAs(owner, s.shopPage(id)); !contains(text, "Ended", "Disconnected here.", "Connect again") || contains(text, "Pause") ||
		contains(text, "every 5 minutes") {
		t.Errorf("%s", text)
	}
	if text := s.readAs(owner, "/dashboard/audit"+at+"&kind=connection."); !contains(text, "Connection paused", "Connection goes on",
		"Shop disconnected", "Earlier orders asked for", "Connection changed") || contains(text, "connection.") {
		t.Errorf("the audit log: %s", text)
	}
}

// The page of a connection tells what is set aside, what differs, and how far it is; an analyst reads it without forms.
func TestThePageOfAConnectionTellsWhatDiffers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner := s.loggedIn()
	service := s.connectService()
	id := s.connected(owner, service)
	service.become(id, commerce.ConnectionLive, "", "")
	service.fill(id, 60)
	analyst := s.join(account.RoleAnalyst, "bia@loja.example", s.Store.StoreID)
	text := s.readAs(analyst, s.shopPage(id))
	if !contains(text, "4,311", "and 3 test orders that were left out", "order-000", "order-049",
		"Something in the order is not understood.",
		"status: is none of the documented", "1 of 40 days differs", "1 order is missing here, 2 differ", "R$ 12,000.10", "just now",
		"ANA10", "15%", "BIA10", "The shop does not have it") || contains(text, "order-050") || contains(text, "SAME") {
		t.Errorf("%s", text)
	}
	raw := s.readRaw(analyst, s.shopPage(id))
	if contains(raw, `action="/dashboard/shops/`) {
		t.Error("an analyst has forms")
	}
	next := regexp.MustCompile(`href="([^"]+after=[^"]+)"`).FindStringSubmatch(raw)
	if next == nil {
		t.Fatal("there is no second page")
	}
	if text := s.readAs(analyst, html.UnescapeString(next[1])); !contains(text, "order-050", "order-059") || contains(text, "order-049") {
		t.Errorf("the second page: %s", text)
	}
	if text := s.readAs(owner, s.shopPage(id)); !contains(text, "Try these orders again", "Compare now", "Make a coupon in the shop") {
		t.Errorf("the owner's: %s", text)
	}
	for name, path := range map[string]string{"of another company": "/dashboard/shops/shop?company=" + s.box + "&id=" + id,
		"of none": s.shopPage("x"), "without": "/dashboard/shops/shop?company=" + s.live, "strange": s.shopPage("%00")} {
		if text := s.readAs(owner, path); !contains(text, "No such connection") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// An owner sees what a customer asks for until it is marked as done; others never do.
func TestAnOwnerDoesWhatACustomerAsksFor(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner := s.loggedIn()
	service := s.connectService()
	id := s.connected(owner, service)
	service.become(id, commerce.ConnectionLive, "", "")
	service.hold(id, func(one commerce.LeasedConnection) {
		for n, kind := range []string{"data_request", "redact", "redact_shop", "data_request"} {
			request := commerce.ShopRequest{ID: fmt.Sprint("request-", n%3), Kind: kind, Customer: fmt.Sprint("c-77", n), AskedAt: time.Now()}
			if err := s.DB.AddShopRequest(t.Context(), service.lease, one.CompanyID, id, request); err != nil {
				t.Fatal(err)
			}
		}
	})
	analyst := s.join(account.RoleAnalyst, "bia@loja.example", s.Store.StoreID)
	if text := s.readAs(analyst, s.shopPage(id)); contains(text, "What customers ask for") || contains(text, "c-77") {
		t.Errorf("an analyst reads whom it names: %s", text)
	}
	text := s.readAs(owner, s.shopPage(id))
	if !contains(text, "What customers ask for", "A customer asked for their data", "c-770", "c-771", "c-772") || contains(text, "c-773") {
		t.Errorf("%s", text)
	}
	answer := func() int {
		status, _ := s.sendFrom(owner, s.shopPage(id), "/dashboard/shops/answer?company="+s.live,
			url.Values{"id": {id}, "request": {"request-0"}, "version": {s.versionOf(id)}})
		return status
	}
	for range 2 { // once it is done, once more is no failure
		if status := answer(); status != http.StatusSeeOther {
			t.Errorf("mark as done: %d", status)
		}
	}
	if text := s.readAs(owner, s.shopPage(id)); contains(text, "c-770") || !contains(text, "c-771") {
		t.Errorf("done: %s", text)
	}
	if n := s.Count("select count(*) from connection_request where customer = 'c-770'"); n != 0 {
		t.Error("whom a request named is stored after it was done")
	}
	if text := s.readAs(owner, "/dashboard/audit?company="+s.live); !contains(text, "Customer’s request marked as done") {
		t.Errorf("the audit log: %s", text)
	}
	s.exec("update connection_request set asked_at = asked_at - interval '31 days'")
	if text := s.readAs(owner, s.shopPage(id)); contains(text, "What customers ask for") {
		t.Errorf("after 30 days: %s", text)
	}
	s.connectService()
	if n := s.Count("select count(*) from connection_request"); n != 0 {
		t.Errorf("%d requests are stored after 30 days", n)
	}
}

// What fails for a quarter of an hour is told on the pages that people look at first.
func TestAConnectionThatFailsIsTold(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	service := s.connectService()
	id := s.connected(owner, service)
	service.become(id, commerce.ConnectionFailing, commerce.ShopSuspended, "402")
	told := func(want bool) {
		t.Helper()
		for _, path := range []string{"/dashboard/", "/dashboard/overview"} {
			if text := s.readAs(owner, path+at); contains(text, "Vestidos da Ana: the connection fails.") != want {
				t.Errorf("%s tells it: %t, want %t: %s", path, !want, want, text)
			}
		}
	}
	told(false)
	s.exec("update connection set since = since - interval '16 minutes' where connection_id = $1", id)
	told(true)
	if text := s.readAs(owner, s.shopPage(id)); !contains(text, "Failing", "The platform has suspended the shop",
		"often an invoice of the platform",
		"Reported: 402") {
		t.Errorf("%s", text)
	}
	if text := s.readAs(owner, "/dashboard/shops"+at); !contains(text, "Failing", "The platform has suspended the shop") {
		t.Errorf("%s", text)
	}
	service.become(id, commerce.ConnectionLive, "", "")
	told(false)
}

// A coupon is made in the shop only after all of it was shown.
func TestACouponIsMadeInTheShopAfterALook(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner := s.loggedIn()
	service := s.connectService()
	id := s.connected(owner, service)
	service.become(id, commerce.ConnectionLive, "", "")
	service.work(myShop)
	path := "/dashboard/shops/coupon?company=" + s.live + "&id=" + id
	form := url.Values{"id": {id}, "code": {"ANA15"}, "percent": {"12.5"}, "max_uses": {"100"}, "ends_on": {"2099-12-31"},
		"one_per_person": {"yes"}}
	for name, c := range map[string]struct{ field, value, want string }{
		"half":    {"percent", "51", "must be above 0 and at most 50"},
		"both":    {"amount", "10", "not both"},
		"neither": {"percent", "", "not both"},
		"uses":    {"max_uses", "0", "must be a whole number"},
		"end":     {"ends_on", "2026-01-01", "must be today or later"},
		"code":    {"code", "", "is empty"},
	} {
		if status, text, _ := s.send(owner, path, changed(form, c.field, c.value)); status != http.StatusUnprocessableEntity ||
			!contains(text, c.want) {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	status, page, _ := s.send(owner, path, form)
	if text := words(page); status != http.StatusOK || !contains(text, "Nothing is made yet", "ANA15", "12.5%", "100 times", "31 Dec 2099",
		"Once for each customer yes", "No influencer has the coupon ANA15", "Make it in Vestidos da Ana") {
		t.Errorf("the look: %d %s", status, text)
	}
	if tasks := service.work(myShop); len(tasks) != 0 {
		t.Errorf("it was made before: %+v", tasks)
	}
	save := changed(changed(form, "step", "save"), "typed_in", "en")
	if status, page, _ := s.send(owner, path, changed(save, "typed_in", "pt-BR")); status != http.StatusOK {
		t.Errorf("looked at in another language: %d %s", status, page)
	}
	if status, page, _ := s.send(owner, path, changed(save, "step", "edit")); status != http.StatusUnprocessableEntity ||
		!contains(page, `value="ANA15"`, `value="12.5"`) {
		t.Errorf("back: %d %s", status, page)
	}
	status, page, to := s.send(owner, path, save)
	if status != http.StatusSeeOther {
		t.Fatalf("%d %s", status, page)
	}
	if text := s.readAs(owner, to); !contains(text, "The coupon is being made in the shop…") {
		t.Errorf("%s", text)
	}
	service.work(func(_ commerce.LeasedConnection, task commerce.ConnectTask) (any, string, string) {
		var asked commerce.ShopCoupon
		if err := json.Unmarshal(task.Question, &asked); err != nil || task.Kind != commerce.TaskCoupon || asked.Code != "ANA15" ||
			asked.Percent != "12.5" || asked.MaxUses != 100 || !asked.OnePerPerson || !asked.Enabled ||
			asked.EndsAt.UTC().Format(time.RFC3339) != "2100-01-01T02:59:59Z" {
			t.Errorf("%s %s %v", task.Kind, task.Question, err)
		}
		return asked, "", ""
	})
	if text := s.readAs(owner, to); !contains(text, "The coupon is in the shop", "ANA15", "12.5%") {
		t.Errorf("%s", text)
	}
	if text := s.readAs(owner, "/dashboard/audit?company="+s.live+"&kind=connection."); !contains(text,
		"Coupon made in the shop", "ANA15") {
		t.Errorf("%s", text)
	}
	// An amount, and a shop that does not answer.
	amount := changed(changed(save, "percent", ""), "amount", "1,234.50")
	status, page, to = s.send(owner, path, amount)
	if status != http.StatusSeeOther {
		t.Fatalf("%d %s", status, page)
	}
	service.work(func(_ commerce.LeasedConnection, task commerce.ConnectTask) (any, string, string) {
		if !strings.Contains(string(task.Question), "1234.50") {
			t.Errorf("%s", task.Question)
		}
		return nil, commerce.ShopUnknownWrite, ""
	})
	if text := s.readAs(owner, to); !contains(text, "The coupon was not made",
		"It is not known whether the shop has it", "Look at the shop before") {
		t.Errorf("%s", text)
	}
}

// A page that waits shows the answer by itself, and how far earlier orders are meanwhile.
func TestAPageOfAShopShowsTheAnswerByItself(t *testing.T) {
	s := newSite(t)
	service := s.connectService()
	page := devtest.Shell(t).MustPage("").Timeout(2 * time.Minute)
	s.enter(page)
	page.MustNavigate(s.url + "/dashboard/shops/connect?company=" + s.live + "&platform=vtex").MustWaitLoad()
	page.MustElement("#f-account").MustInput("myshop")
	page.MustElement("#f-token").MustInput(secretToken)
	loaded := page.MustWaitNavigation()
	page.MustElement("main button.main").MustClick()
	loaded()
	page.MustElementR("main", "The keys are being tested")
	service.work(myShop)
	wait(page, "main", "The keys work")
	loaded = page.MustWaitNavigation()
	page.MustElementR("main button.main", "Connect Vestidos da Ana").MustClick()
	loaded()
	list, err := s.DB.Connections(t.Context(), s.live)
	if err != nil || len(list) != 1 {
		t.Fatalf("%v %v", list, err)
	}
	id := list[0].ID
	service.become(id, commerce.ConnectionBackfilling, "", "")
	read := func(done int64, ended time.Time) {
		service.hold(id, func(one commerce.LeasedConnection) {
			b := one.Backfill
			b.Done, b.Total, b.Ended = done, 4120, ended
			if err := s.DB.StorePage(t.Context(), service.lease, one.CompanyID, id, commerce.ConnectPage{Backfill: &b}); err != nil {
				t.Fatal(err)
			}
		})
	}
	read(1030, time.Time{})
	wait(page, "#backfill", "1,030 of 4,120 orders read")
	if got := page.MustElement("#backfill progress").MustProperty("value").Int(); got != 25 {
		t.Errorf("the bar is at %d", got)
	}
	read(2060, time.Time{})
	wait(page, "#backfill", "2,060 of 4,120 orders read")
	read(4120, time.Now())
	service.become(id, commerce.ConnectionLive, "", "")
	wait(page, "main", "Orders come by themselves.")
}
