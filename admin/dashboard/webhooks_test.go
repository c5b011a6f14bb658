package dashboard_test

import (
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
)

var secretOnPage = regexp.MustCompile(`whsec_[A-Za-z0-9+/=]{44}`)

// erp is the form that adds an endpoint.
func erp() url.Values {
	return url.Values{"name": {"ERP"}, "url": {"https://erp.example.com/tributary"}, "types": {"order.attributed", "payout.review"}}
}

// addEndpoint adds an endpoint from the pages, and returns its id and the page that shows its secret.
func (s *site) addEndpoint(client *http.Client, form url.Values) (id, page string) {
	s.t.Helper()
	status, text, to := s.send(client, "/dashboard/webhooks?company="+s.live, form)
	found := regexp.MustCompile(`[?&]id=(whe_[a-z0-9]+)`).FindStringSubmatch(to)
	if status != http.StatusSeeOther || found == nil {
		s.t.Fatalf("the endpoint: %d to %q: %.2000s", status, to, text)
	}
	return found[1], to
}

// nth is the number of the nth message of an endpoint, at most of a hundred.
func (s *site) nth(id string, n int64) int64 {
	s.t.Helper()
	list, err := s.DB.Messages(s.t.Context(), s.live, id, "", 0, 100)
	if err != nil || int(n) > len(list) {
		s.t.Fatal(len(list), err)
	}
	return list[len(list)-int(n)].Number
}

// sendTests stores what became of the messages of an endpoint, as the connect service does: one each, of which Number says which it is.
func (s *site) sendTests(id string, sent ...commerce.Sent) {
	s.t.Helper()
	for i := range sent {
		sent[i].Number = s.nth(id, sent[i].Number)
	}
	l := commerce.ConnectLease{Holder: "sends", For: time.Minute}
	list, err := s.DB.LeaseDestinations(s.t.Context(), append([]commerce.DestinationKind{commerce.ToWebhook}, commerce.Networks...), l, 20)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range list {
		if e.ID == id {
			health := commerce.DestinationHealth{FailingSince: time.Now().Add(-time.Hour), Failures: 2}
			if err := s.DB.StoreSent(s.t.Context(), l, e, sent, health); err != nil {
				s.t.Fatal(err)
			}
		}
		if err := s.DB.ReleaseDestination(s.t.Context(), l, e, time.Now(), time.Now()); err != nil {
			s.t.Fatal(err)
		}
	}
}

// A merchant who cannot program sets up an endpoint, sees what became of its messages, and mends it.
func TestAWebhookIsSetUpFromThePages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	if text := s.readAs(owner, "/dashboard/webhooks"+at); !contains(text, "The service that sends webhooks is not running.") {
		t.Errorf("without a service: %s", text)
	}
	if status, text, _ := s.send(owner, "/dashboard/webhooks"+at, erp()); status != http.StatusConflict || !contains(text, "is not running") {
		t.Errorf("added without a service: %d", status)
	}
	s.connectService()
	for name, bad := range map[string]url.Values{
		"is empty":                              changed(erp(), "name", " "),
		"must be an https URL":                  changed(erp(), "url", "http://erp.example.com/"),
		"must name its host, not an IP address": changed(erp(), "url", "https://169.254.169.254/"),
		"needs at least one":                    {"name": {"ERP"}, "url": {"https://erp.example.com/"}},
		"must be one of order.attributed":       changed(erp(), "types", "webhook.test"),
	} {
		if status, text, _ := s.send(owner, "/dashboard/webhooks"+at, bad); status != http.StatusUnprocessableEntity || !contains(text, name) {
			t.Errorf("%s: %d %.600s", name, status, text)
		}
	}
	id, shown := s.addEndpoint(owner, erp())
	first := s.readRaw(owner, shown)
	secret := secretOnPage.FindString(html.UnescapeString(first))
	if secret == "" || !contains(first, "ERP", "https://erp.example.com/tributary", "order.attributed", "No messages.") {
		t.Errorf("the page is %s", first)
	}
	page := strings.TrimSuffix(shown, "&done=x")
	if again := s.readRaw(owner, page); strings.Contains(again, "whsec_") {
		t.Error("the secret is shown twice")
	}
	form := func(more ...string) url.Values {
		values := url.Values{"id": {id}}
		for i := 0; i+1 < len(more); i += 2 {
			values.Set(more[i], more[i+1])
		}
		return values
	}
	do := func(what string, values url.Values, want int, says ...string) string {
		t.Helper()
		status, text, to := s.send(owner, "/dashboard/webhooks/"+what+at, values)
		if status == http.StatusSeeOther {
			text = s.readRaw(owner, to)
		}
		if status != want || !contains(text, says...) {
			t.Errorf("%s: %d %s", what, status, text)
		}
		return text
	}
	const ok, stale, wrong = http.StatusSeeOther, http.StatusConflict, http.StatusUnprocessableEntity
	for range 3 {
		if text := do("test", form(), ok, "The test event is on its way", "webhook.test", "Waiting"); !contains(text, "data-again") {
			t.Errorf("the page does not ask what became of it: %s", text)
		}
	}
	now := time.Now()
	s.sendTests(id, commerce.Sent{Number: 1, State: commerce.MessageDelivered, Try: commerce.Try{At: now, Status: 204, TookMS: 31}},
		commerce.Sent{Number: 2, State: commerce.MessageParked, Try: commerce.Try{At: now, Status: 500, Failure: commerce.TryStatus, TookMS: 7,
			Answer: "signature <b>wrong</b>"}},
		commerce.Sent{Number: 3, State: commerce.MessageWaiting, DueAt: now.Add(time.Hour),
			Try: commerce.Try{At: now, Failure: commerce.TryTimeout}})
	text := s.readRaw(owner, page)
	if !contains(text, "Failing", "Answer 204, after 31 ms", "Answer 500, after 7 ms", "signature &lt;b&gt;wrong&lt;/b&gt;",
		"No answer within 20 seconds.", "Given up", "next attempt", "What is sent", "webhook-id <code>msg_",
		"&#34;type&#34;: &#34;webhook.test&#34;") || contains(text, "data-again") {
		t.Errorf("what became of the tests: %s", text)
	}
	if text := s.readRaw(owner, page+"&state=parked"); !contains(text, "Answer 500") || contains(text, "Answer 204") {
		t.Errorf("parked ones: %s", text)
	}
	for _, bad := range []string{"&state=x", "&before=x", "&before=-1"} {
		if answer := s.get(owner, page+bad); answer != http.StatusBadRequest {
			t.Errorf("%s: %d", bad, answer)
		}
	}
	do("resend", form("number", fmt.Sprint(s.nth(id, 2))), ok, "The message is sent again.")
	do("resend", form("number", "99"), http.StatusNotFound)
	do("resend", form("number", "x"), http.StatusBadRequest)
	if e, err := s.DB.Endpoint(t.Context(), s.live, id); err != nil || e.Waiting != 2 || e.Parked != 0 {
		t.Errorf("%+v, %v", e, err)
	}

	s.sendTests(id, commerce.Sent{Number: 2, State: commerce.MessageDelivered, Try: commerce.Try{At: now, Status: 200, TookMS: 5}})
	if text := s.readRaw(owner, page); !contains(text, "2 attempts", "Answer 200, after 5 ms", "Answer 500, after 7 ms") {
		t.Errorf("after two attempts: %s", text)
	}

	rotated := secretOnPage.FindString(html.UnescapeString(do("secret", form(), ok, "Copy it now")))
	if rotated == "" || rotated == secret {
		t.Errorf("the new secret is %q", rotated)
	}
	do("replay", form("from", "2026-01-01T00:00"), ok, "What happened waits to be sent once more.")
	do("replay", form("from", ""), wrong, "must be a day and a time")
	do("replay", form("from", "2199-01-01T00:00"), wrong, "must not be in the future")
	do("replay", form("from", "2026-01-01T00:00", "to", "2025-01-01T00:00"), wrong, "must be after the beginning")
	do("change", changed(form("name", "ERP 2", "types", "payout.changed"), "url", "https://erp.example.com/2"), ok, "ERP 2", "Saved.")
	do("change", form("name", "ERP 3", "types", "payout.changed", "url", "x"), wrong, "must be an https URL", "ERP 3")

	// Who comes from an older page overwrites nothing.
	version := s.versionAt(owner, page, "/dashboard/webhooks/change")
	do("disable", form(), ok, "Disabled here.")
	do("change", form("name", "Old", "types", "payout.changed", "url", "https://erp.example.com/2", "version", version), stale, "Stored now",
		"ERP 2")
	do("test", form(), stale, "The endpoint is disabled: enable it first.")
	if text := s.readAs(owner, "/dashboard/"+at); contains(text, "Webhook ERP 2") { // the store did it itself
		t.Errorf("the first page reads %s", text)
	}
	s.exec("update destination set reason = 'dead', since = '2026-03-01T12:00:00Z', failing_since = null where destination_id = $1", id)
	if text := s.readAs(owner, "/dashboard/"+at); !contains(text,
		"Webhook ERP 2: nothing is sent to this endpoint. Nothing reached it for five days.") {
		t.Errorf("the first page reads %s", text)
	}
	// Then the form of a replay begins where it was disabled, and not where it was reached last.
	do("enable", form(), ok, "What waited is sent now.", `value="2026-03-01T09:00"`, "<details open><summary>Send a period once more",
		"What happened since 1 Mar 2026, 09:00 was not kept for it.")
	// What waits behind another one says so, and is not sent again by itself.
	s.behind(id)
	if text := s.readRaw(owner, page); strings.Count(text, "after the earlier one about the same") != 1 ||
		!contains(text, `value="8000000000000000"`, "/dashboard/order?company="+s.live+"&amp;id=behind") ||
		contains(text, `value="8000000000000001"`) {
		t.Errorf("one that waits behind another: %s", text)
	}
	list := s.readAs(owner, "/dashboard/webhooks"+at)
	if !contains(list, "ERP 2", "https://erp.example.com/2", "Active") || contains(list, "whsec_") {
		t.Errorf("the list: %s", list)
	}

	// Analysts see it, and do nothing; another store's people do not.
	analyst := s.join(account.RoleAnalyst, "bia@loja.example", s.Store.StoreID)
	if text := s.readRaw(analyst, page); !contains(text, "ERP 2") || contains(text, `action="/dashboard/webhooks/`) {
		t.Errorf("an analyst reads %s", text)
	}
	for _, other := range []string{"whe_none", "x%00", ""} {
		if status := s.get(owner, "/dashboard/webhooks/endpoint"+at+"&id="+other); status != http.StatusNotFound {
			t.Errorf("%s: %d", other, status)
		}
	}
	audit := s.readAs(owner, "/dashboard/audit"+at+"&kind=webhook.")
	if !contains(audit, "Webhook endpoint added", "Test event sent", "New secret of a webhook endpoint", "Message sent again",
		"; Name: ERP") ||
		contains(audit, "whsec_") {
		t.Errorf("the audit log: %s", audit)
	}
	do("remove", form(), ok, "Removed. Nothing more is sent to it.", "Nothing is sent yet.")
	do("remove", form(), http.StatusNotFound)
	if strings.Contains(s.logged(), "whsec_") {
		t.Error("the log has a secret")
	}
}

// The first page of a replay that has more says how many wait, and its form sends the rest: each order once, also those of one minute
// and of the last ones.
func TestTheRestOfAReplayIsSent(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.connectService()
	owner := s.loggedIn()
	id, shown := s.addEndpoint(owner, url.Values{"name": {"ERP"}, "url": {"https://erp.example.com/"},
		"types": {"order.attributed", "payout.changed"}}) // two messages of each order
	s.exec(`insert into payout (company_id, order_id, day, status, currency, total_minor, base_minor, commission_minor, influencer_id,
			processed_at)
		select $1, 'o' || n, current_date, 1, 'BRL', 1, 1, 1, gen_random_uuid(), now() - interval '1 s' - n * interval '1 ms'
		from generate_series(1, $2::int) n`, s.live, 2*commerce.MaxReplay+1)
	form := url.Values{"id": {id}, "version": {s.versionAt(owner, shown, "/dashboard/webhooks/replay")},
		"from": {time.Now().AddDate(0, 0, -1).UTC().Format("2006-01-02T15:04")}}
	field := regexp.MustCompile(`<input (?:id="r-[a-z]+" name="|type="hidden" name=")([a-z]+)"[^>]* value="([^"]*)"`)
	more, ended := 0, false
	for ; more < 20 && !ended; more++ { // at least three; more where the machine is slow
		status, text, to := s.send(owner, "/dashboard/webhooks/replay?company="+s.live, form)
		if ended = status == http.StatusSeeOther && strings.Contains(to, "webhook_replayed"); ended {
			break
		}
		if status != http.StatusOK || !contains(text, `role="status">`, " to be sent. There is more: send the rest.") ||
			contains(text, `role="alert"`) {
			t.Fatalf("%d %.6000s", status, text)
		}
		_, text, _ = strings.Cut(text, `action="/dashboard/webhooks/replay`)
		text, _, _ = strings.Cut(text, "</form>")
		form = url.Values{}
		for _, f := range field.FindAllStringSubmatch(text, -1) {
			form.Set(f[1], html.UnescapeString(f[2]))
		}
	}
	if e, err := s.DB.Endpoint(t.Context(), s.live, id); err != nil || e.Waiting != 4*commerce.MaxReplay+2 || more < 2 || !ended {
		t.Errorf("after %d forms (ended: %t) %d messages wait, %v", more, ended, e.Waiting, err)
	}
	// Another beginning that is typed counts.
	form.Set("from", "2100-01-01T00:00")
	if status, text, _ := s.send(owner, "/dashboard/webhooks/replay?company="+s.live, form); status != http.StatusUnprocessableEntity ||
		!contains(text, "must not be in the future") {
		t.Errorf("another beginning: %d %.600s", status, text)
	}
}

// get is the status of a page.
func (s *site) get(client *http.Client, path string) int {
	s.t.Helper()
	answer, err := client.Get(s.url + path)
	if err != nil {
		s.t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}

// behind makes two messages of one order that wait: the second for the first.
func (s *site) behind(id string) {
	s.t.Helper()
	s.exec(`insert into outgoing (company_id, destination_id, number, key, type, at, message_id, data, due_at)
		select $1, $2, n, 'order:behind', 'payout.changed', now(), 'msg_' || n, '{"orderId": "behind", "state": "earned"}',
			now() + interval '1 hour'
		from generate_series(8000000000000000, 8000000000000001) n`, s.live, id)
}

// fillWebhooks makes endpoints in each state, one with messages, and returns the paths of their pages.
func (s *site) fillWebhooks() (paths []string) {
	s.t.Helper()
	s.connectService()
	owner := s.loggedIn()
	path := func(id string) string { return "/dashboard/webhooks/endpoint?company=" + s.live + "&id=" + id }
	long := erp()
	long.Set("url", "https://integracoes.loja-muito-comprida.example.com/tributary/webhooks/"+strings.Repeat("abcdefghij", 12))
	id, _ := s.addEndpoint(owner, long)
	now := time.Now()
	var sent []commerce.Sent
	for n := range 60 {
		if _, err := s.DB.TestEndpoint(s.t.Context(), commerce.Author{CompanyID: s.live, Actor: "cli", At: now}, id); err != nil {
			s.t.Fatal(err)
		}
		one := commerce.Sent{Number: int64(n + 1), State: commerce.MessageDelivered, Try: commerce.Try{At: now, Status: 200, TookMS: 120}}
		switch n % 5 {
		case 1:
			one.State, one.Try = commerce.MessageParked, commerce.Try{At: now, Status: 500, Failure: commerce.TryStatus, TookMS: 9,
				Answer: "internal error: no such tenant " + strings.Repeat("0123456789", 15)}
		case 2:
			one.State, one.DueAt, one.Try = commerce.MessageWaiting, now.Add(time.Hour), commerce.Try{At: now, Failure: commerce.TryTimeout}
		}
		sent = append(sent, one)
	}
	s.sendTests(id, sent...)
	s.behind(id)
	s.exec("update outgoing set tries = tries || tries || tries where destination_id = $1 and state = 'parked'", id)
	paths = append(paths, path(id), path(id)+"&state=parked")
	for i, reason := range []string{commerce.EndpointByMerchant, commerce.EndpointDead} {
		other, _ := s.addEndpoint(owner, changed(erp(), "name", fmt.Sprint("Loja ", i)))
		s.exec("update destination set state = 'disabled', reason = $2 where destination_id = $1", other, reason)
		paths = append(paths, path(other))
	}
	return paths
}
