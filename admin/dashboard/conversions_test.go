package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

// meta is the form that adds an account at a network.
func meta() url.Values {
	return url.Values{"network": {"meta"}, "name": {"Meta BR"}, "account_id": {"1234567890"}, "secret": {"EAABsecret"}, "test_code": {"TEST1"}}
}

// addNetwork adds an account at a network from the pages, and returns its id.
func (s *site) addNetwork(client *http.Client, form url.Values) (id string) {
	s.t.Helper()
	status, text, to := s.send(client, "/dashboard/conversions?company="+s.live, form)
	found := regexp.MustCompile(`[?&]id=(net_[a-z0-9]+)`).FindStringSubmatch(to)
	if status != http.StatusSeeOther || found == nil {
		s.t.Fatalf("the account: %d to %q: %.2000s", status, to, text)
	}
	return found[1]
}

// told is the event that an order is to be looked at for an account, and what became of it.
func (s *site) told(id, order string, sent commerce.Sent) {
	s.t.Helper()
	s.exec(`with n as (insert into outgoing_number (company_id, last) values ($1, 1)
			on conflict (company_id) do update set last = outgoing_number.last + 1 returning last)
		insert into outgoing (company_id, destination_id, number, key, type, at, message_id, data, due_at)
		select $1, $2, last, 'order:' || $3::text, 'conversion.proven', now(), 'msg_' || $3::text, json_build_object('orderId', $3::text), now()
		from n`, s.live, id, order)
	list, err := s.DB.Messages(s.t.Context(), s.live, id, "", 0, 100)
	if err != nil {
		s.t.Fatal(err)
	}
	sent.Number = int64(len(list))
	s.sendTests(id, sent)
}

// The forms of webhooks do nothing to an account at a network, and those of conversions nothing to an endpoint; neither page shows the
// other kind.
func TestFormsOfWebhooksReachNoNetworkAndTheOtherWayRound(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.connectService()
	owner, at := s.loggedIn(), "?company="+s.live
	network := s.addNetwork(owner, meta())
	endpoint, _ := s.addEndpoint(owner, erp())
	for path, id := range map[string]string{"/dashboard/webhooks": network, "/dashboard/conversions": endpoint} {
		for _, form := range []string{"change", "secret", "resend", "replay", "remove", "enable", "disable", "test"} {
			values := changed(meta(), "id", id)
			values.Set("number", "1")
			values.Set("from", "2026-01-01T00:00")
			values.Set("url", "https://erp.example.com/other")
			values.Set("types", "order.attributed")
			values.Set("version", s.versionOf(id))
			if status, text, _ := s.send(owner, path+"/"+form+at, values); status != http.StatusNotFound {
				t.Errorf("%s/%s of the other kind: %d %.200s", path, form, status, text)
			}
		}
		one := map[string]string{"/dashboard/webhooks": "endpoint", "/dashboard/conversions": "account"}[path]
		if status := s.get(owner, path+"/"+one+at+"&id="+id); status != http.StatusNotFound {
			t.Errorf("%s shows the other kind: %d", path, status)
		}
		if text := s.readRaw(owner, path+at); strings.Contains(text, id) {
			t.Errorf("%s lists the other kind", path)
		}
	}
	states, err := s.DB.EndpointStates(t.Context(), s.live)
	if err != nil || len(states) != 2 || !states[0].Active || !states[1].Active || states[0].Name != "Meta BR" || states[1].Name != "ERP" {
		t.Errorf("%+v, %v", states, err)
	}
}

// A merchant who cannot program sets up an account at a network, and reads of each order why it was sent or not.
func TestAnAccountAtANetworkIsSetUpFromThePages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	if text := s.readAs(owner, "/dashboard/conversions"+at); !contains(text, "The service that sends conversions is not running.",
		"No network is told of sales yet.") {
		t.Errorf("without a service: %s", text)
	}
	if status, text, _ := s.send(owner, "/dashboard/conversions"+at, meta()); status != http.StatusConflict ||
		!contains(text, "is not running") {
		t.Errorf("added without a service: %d", status)
	}
	keys := s.connectService().keys
	for says, bad := range map[string]url.Values{
		"is empty":                 changed(meta(), "name", " "),
		"must be one of":           changed(meta(), "network", "webhook"),
		"is the id of the dataset": changed(meta(), "account_id", "G-ABCD1234"),
		"is for Google Ads alone":  changed(meta(), "action_id", "7"),
		"is needed":                changed(meta(), "secret", " "),
		"has a space":              changed(meta(), "secret", "EAAB secret"),
		"must be the key file of a service account":  {"network": {"google"}, "name": {"G"}, "account_id": {"1234567890"}, "secret": {"{}"}},
		"is the conversion action&#39;s id":          {"network": {"google"}, "name": {"G"}, "account_id": {"1234567890"}, "secret": {"{}"}},
		"is the code that the network shows":         changed(meta(), "test_code", "no code"),
		"is the measurement id, such as G-AB12CD34E": changed(meta(), "network", "ga4"),
	} {
		status, text, _ := s.send(owner, "/dashboard/conversions"+at, bad)
		if status != http.StatusUnprocessableEntity || !contains(text, says) || strings.Contains(text, "EAAB") {
			t.Errorf("%s: %d %.900s", says, status, text)
		}
	}
	id := s.addNetwork(owner, meta())
	if status, text, _ := s.send(owner, "/dashboard/conversions"+at, meta()); status != http.StatusUnprocessableEntity ||
		!contains(text, "you have added this account already") {
		t.Errorf("the same account again: %d %.900s", status, text)
	}
	page := "/dashboard/conversions/account" + at + "&id=" + id
	if text := s.readRaw(owner, page+"&done=network_added"); !contains(text, "Meta BR", "Meta · 1234567890 · test", "TEST1", "No messages.",
		"Approved orders that are proven to be an influencer’s are sent.", "It is told of what is sold from now on where the buyer agreed.",
		`tributary.consent("granted meta")`) {
		t.Errorf("the page is %s", text)
	}
	do := func(what string, values url.Values, want int, says ...string) string {
		t.Helper()
		values.Set("id", id)
		status, text, to := s.send(owner, "/dashboard/conversions/"+what+at, values)
		if status == http.StatusSeeOther {
			text = s.readRaw(owner, to)
		}
		if status != want || !contains(text, says...) {
			t.Errorf("%s: %d %s", what, status, text)
		}
		return text
	}
	const ok, stale, wrong = http.StatusSeeOther, http.StatusConflict, http.StatusUnprocessableEntity
	do("test", url.Values{}, ok, "The test is on its way", "Waiting")
	now := time.Now()
	s.sendTests(id, commerce.Sent{Number: 1, State: commerce.MessageDelivered, Try: commerce.Try{At: now, Status: 200, TookMS: 31}})
	s.told(id, "1001", commerce.Sent{State: commerce.MessageSkipped, Try: commerce.Try{At: now, Failure: commerce.SkipNoConsent}})
	s.told(id, "1002", commerce.Sent{State: commerce.MessageParked, Try: commerce.Try{At: now, Status: 400, Failure: commerce.TryRefused,
		TookMS: 7, Answer: "Invalid <b>currency</b>"}})
	s.told(id, "1003", commerce.Sent{State: commerce.MessageWaiting, DueAt: now.Add(time.Hour),
		Try: commerce.Try{At: now, Failure: commerce.TryTimeout}})
	s.told(id, "1004", commerce.Sent{State: commerce.MessageWaiting, DueAt: now.Add(time.Minute), Untried: true})
	if text := s.readRaw(owner, page); !contains(text, "Answer 200, after 31 ms", "The buyer did not agree to Meta.", "Not sent",
		"Meta refused it for good. Answer 400, after 7 ms: Invalid &lt;b&gt;currency&lt;/b&gt;", "No answer within 20 seconds.", "Given up",
		"next attempt", ">1001</a>", "/dashboard/order?company="+s.live+"&amp;id=1002", "an influencer’s", "Failing",
		"It is not known yet whether it may be told") {
		t.Errorf("what became of the messages: %s", text)
	}
	if text := s.readRaw(owner, page+"&state=skipped"); !contains(text, ">1001</a>") || contains(text, ">1002</a>") {
		t.Errorf("those that were not sent: %s", text)
	}
	if status := s.get(owner, page+"&state=lost"); status != http.StatusBadRequest {
		t.Errorf("an unknown state: %d", status)
	}
	do("resend", url.Values{"number": {fmt.Sprint(s.nth(id, 2))}}, ok, "The order is looked at again.")
	do("replay", url.Values{"from": {"2026-01-01T00:00"}}, ok, "What was sold waits to be looked at again.")
	do("secret", url.Values{"secret": {"EAAB new"}}, wrong, "has a space")
	if text := do("secret", url.Values{"secret": {"EAABnew"}}, ok, "The new secret is stored."); strings.Contains(text, "EAAB") {
		t.Errorf("the secret is shown: %s", text)
	}
	l := commerce.ConnectLease{Holder: "reads", For: time.Minute}
	leased, err := s.DB.LeaseDestinations(t.Context(), commerce.Networks, l, 10)
	if err != nil || len(leased) != 1 || len(leased[0].Secrets) != 1 {
		t.Fatalf("%+v, %v", leased, err)
	}
	plain, err := keys.Open(leased[0].Secrets[0].KeyID, account.SealedFor{CompanyID: s.live, ConnectionID: id, Purpose: account.SealNetwork},
		leased[0].Secrets[0].Sealed)
	if err != nil || string(plain) != "EAABnew" {
		t.Errorf("it is sent by %q, %v", plain, err)
	}
	if err := s.DB.ReleaseDestination(t.Context(), l, leased[0], now, now); err != nil {
		t.Fatal(err)
	}
	settings := url.Values{"name": {"Meta 2"}, "account_id": {"1234567890"}, "all_orders": {"yes"}, "test_code": {""}}
	do("change", settings, ok, "Meta 2", "Saved.", "All approved orders are sent.")
	do("change", changed(settings, "account_id", "x"), wrong, "is the id of the dataset")

	// Who comes from an older page overwrites nothing.
	version := s.versionAt(owner, page, "/dashboard/conversions/change")
	do("disable", url.Values{}, ok, "Disabled here.")
	do("change", changed(changed(settings, "name", "Old"), "version", version), stale, "Stored now", "Meta 2")
	do("test", url.Values{}, stale, "The account is disabled: enable it first.")
	if text := s.readAs(owner, "/dashboard/"+at); contains(text, "Conversions Meta 2") { // the store did it itself
		t.Errorf("the first page reads %s", text)
	}
	s.exec("update destination set reason = 'dead' where destination_id = $1", id)
	first := s.readRaw(owner, "/dashboard/"+at)
	if !contains(first, "Conversions Meta 2: nothing is sent to this account. Nothing reached it for five days.",
		`href="/dashboard/conversions/account?company=`+s.live+"&amp;id="+id) {
		t.Errorf("the first page reads %s", first)
	}
	do("enable", url.Values{}, ok, "What waited is sent now.")

	analyst := s.join(account.RoleAnalyst, "bia@loja.example", s.Store.StoreID)
	if text := s.readRaw(analyst, page); !contains(text, "Meta 2") || contains(text, `action="/dashboard/conversions`) {
		t.Errorf("an analyst reads %s", text)
	}
	audit := s.readAs(owner, "/dashboard/audit"+at+"&kind=network.")
	if !contains(audit, "Account at a network added", "Test sent to a network", "New secret of an account at a network",
		"Order looked at again for a network", "Network: Meta", "Id of the account: 1234567890", "All approved orders: yes") ||
		contains(audit, "EAAB") || contains(audit, "Webhook endpoint") || contains(audit, "meta:") {
		t.Errorf("the audit log: %s", audit)
	}
	do("remove", url.Values{}, ok, "Removed. Nothing more is sent to it.", "No network is told of sales yet.")
	do("remove", url.Values{}, http.StatusNotFound, "No such account")
	if strings.Contains(s.logged(), "EAAB") {
		t.Error("the log has a secret")
	}
}

// The page of erasures shows which networks know the person, so that the erasure is passed on.
func TestAnErasureShowsWhatNetworksWereTold(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	s.erasedTold()
	text := s.readRaw(owner, "/dashboard/privacy"+at)
	found := regexp.MustCompile(`href="(/dashboard/privacy\?company=[^"]+erasure=[0-9a-f-]{36})#told"`).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("no link: %s", text)
	}
	told := s.readRaw(owner, strings.ReplaceAll(found[1], "&amp;", "&"))
	if !contains(told, "What networks were told", "Ask these networks", ">told-1</a>", "Meta", "1234567890", "not known whether it arrived",
		"TikTok") || contains(told, "other-1") {
		t.Errorf("the page reads %s", told)
	}
	// Nothing is said of an erasure that is not there, or not done: what was told is whole then.
	const words = "No network was told of this person’s orders."
	for what, id := range map[string]string{"there": "0195b2c0-0000-7000-8000-000000000000", "done": uuid.NewString()} {
		if what == "done" {
			s.exec(`insert into erasure (company_id, erasure_id, rev, asked_at, actor, kinds, orders)
				values ($1, $2::uuid, 901, now(), 'test', 'email', 1)`, s.live, id)
		}
		if page := s.readRaw(owner, "/dashboard/privacy"+at+"&erasure="+id); contains(page, words) || contains(page, "told-1") {
			t.Errorf("of an erasure that is not %s: %s", what, page)
		}
	}
	none := uuid.NewString()
	s.exec(`insert into erasure (company_id, erasure_id, rev, asked_at, actor, kinds, orders, done_at)
		values ($1, $2::uuid, 902, now(), 'test', 'email', 1, now())`, s.live, none)
	if page := s.readRaw(owner, "/dashboard/privacy"+at+"&erasure="+none); !contains(page, words) {
		t.Errorf("of a person of whom nothing was told: %s", page)
	}
}

// erasedTold makes an erasure of two orders of which networks were told.
func (s *site) erasedTold() (erasureID string) {
	s.t.Helper()
	erasureID = uuid.NewString()
	s.exec(`with e as (insert into erasure (company_id, erasure_id, rev, asked_at, actor, kinds, orders, done_at)
			values ($1, $2::uuid, 900, now(), 'test', 'email', 2, now())),
		o as (insert into erased_order (company_id, order_id, erasure_id) select $1, 'told-' || n, $2::uuid from generate_series(1, 2) n)
		insert into conversion (company_id, order_id, network, account, begun_at, sent_at, currency, value_minor) values
			($1, 'told-1', 'meta', '1234567890', now(), now(), 'BRL', 100), ($1, 'told-2', 'tiktok', 'C4ABCDEFGH', now(), null, 'BRL', 100),
			($1, 'other-1', 'meta', '1234567890', now(), now(), 'BRL', 100)`, s.live, erasureID)
	return erasureID
}

// fillConversions makes accounts in each state, one with messages, and returns the paths of their pages.
func (s *site) fillConversions() []string {
	s.t.Helper()
	owner := s.loggedIn()
	path := func(id string) string { return "/dashboard/conversions/account?company=" + s.live + "&id=" + id }
	id := s.addNetwork(owner, changed(meta(), "name", "Meta da loja muito comprida de roupas e acessórios do Brasil"))
	now := time.Now()
	for i, sent := range []commerce.Sent{
		{State: commerce.MessageDelivered, Try: commerce.Try{At: now, Status: 200, TookMS: 120}},
		{State: commerce.MessageSkipped, Try: commerce.Try{At: now, Failure: commerce.SkipNoConsent}},
		{State: commerce.MessageSkipped, Try: commerce.Try{At: now, Failure: commerce.SkipTold}},
		{State: commerce.MessageParked, Try: commerce.Try{At: now, Status: 400, Failure: commerce.TryRefused, TookMS: 9,
			Answer: "Invalid parameter: " + strings.Repeat("0123456789", 15)}},
		{State: commerce.MessageWaiting, DueAt: now.Add(time.Hour), Try: commerce.Try{At: now, Status: 401, Failure: commerce.TryAccount,
			Answer: "Error validating access token: the session has expired"}},
		{State: commerce.MessageWaiting, DueAt: now.Add(time.Hour), Untried: true},
	} {
		s.told(id, fmt.Sprint("pedido-", 1000+i), sent)
	}
	other := s.addNetwork(owner, url.Values{"network": {"ga4"}, "name": {"Loja"}, "account_id": {"G-ABCD1234"}, "secret": {"x"},
		"all_orders": {"yes"}})
	s.exec("update destination set state = 'disabled', reason = 'dead' where destination_id = $1", other)
	return []string{path(id), path(id) + "&state=skipped", path(other), "/dashboard/privacy?company=" + s.live + "&erasure=" + s.erasedTold()}
}
