package admin_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

// connectOffer is a connect service that runs, and the keys that it has.
func (s *service) connectOffer() *account.SealKeys {
	s.t.Helper()
	keys, err := account.NewSealKeys()
	if err != nil {
		s.t.Fatal(err)
	}
	id, public := keys.Newest()
	if err := s.db.OfferConnect(s.t.Context(), commerce.ConnectOffer{KeyID: id, PublicKey: public, SeenAt: time.Now()}); err != nil {
		s.t.Fatal(err)
	}
	return keys
}

// dataOf reads the data of an answer that succeeded.
func dataOf[T any](s *service, got answer) (data T) {
	s.t.Helper()
	s.want(got, 200, "")
	if err := json.Unmarshal(got.Data, &data); err != nil {
		s.t.Fatalf("%s: %v", got.Data, err)
	}
	return data
}

type endpointData struct {
	ID           string `json:"endpoint_id"`
	Secret       string
	Name         string
	URL          string
	Types        []string
	State        string
	Reason       *string
	FailingSince *string `json:"failing_since"`
	Waiting      int
}

type messageData struct {
	Sequence int
	Type, Of string
	State    string
	DueAt    *string `json:"due_at"`
	Data     map[string]any
	Attempts []struct {
		Status  *int
		Failure *string
		Answer  *string
	}
}

func TestWebhooksComeChangeAndGo(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	const path = "/admin/v1/webhooks"
	const erp = `{"name":" ERP ","url":"https://erp.example.com/t","types":["payout.changed","order.attributed"]}`

	// Without a connect service nothing could be sent, and no secret could be kept.
	s.want(s.call("POST", path, s.live, erp), 503, "unavailable")
	keys := s.connectOffer()

	for body, field := range map[string]string{
		`{"url":"https://erp.example.com/t"}`:                  "name",
		`{"name":" ","url":"https://erp.example.com/t"}`:       "name",
		`{"name":"a\u0000","url":"https://erp.example.com/t"}`: "name",
		`{"name":"ERP"}`: "url",
		`{"name":"ERP","url":"http://erp.example.com/t"}`:                                           "url",
		`{"name":"ERP","url":"https://10.0.0.1/"}`:                                                  "url",
		`{"name":"ERP","url":"https://u:p@erp.example.com/"}`:                                       "url",
		`{"name":"ERP","url":"https://erp.example.com/` + strings.Repeat("a", 500) + `"}`:           "url",
		`{"name":"ERP","url":"https://erp.example.com/","types":[]}`:                                "types",
		`{"name":"ERP","url":"https://erp.example.com/","types":["webhook.test"]}`:                  "types",
		`{"name":"ERP","url":"https://erp.example.com/","types":["payout.review","payout.review"]}`: "types",
		`{"name":"ERP","url":"https://erp.example.com/","types":"payout.review"}`:                   "types",
	} {
		if got := s.call("POST", path, s.live, body); got.Status != 400 || len(got.Error.Details) != 1 || got.Error.Details[0].Field != field {
			t.Errorf("%.90s: %d %+v", body, got.Status, got.Error)
		}
	}
	s.want(s.call("POST", path, s.live, strings.Replace(erp, "types", "events", 1), "Prefer", "handling=strict"), 400, "validation_error")

	// The secret is in the first answer alone: a repeated one, which is stored, has none.
	const key = "9f0f9d3e-0000-4000-8000-000000000001"
	made := dataOf[endpointData](s, s.call("POST", path, s.live, erp, "Idempotency-Key", key))
	if !strings.HasPrefix(made.Secret, account.WebhookSecretPrefix) {
		t.Errorf("the secret is %q", made.Secret)
	}
	again := s.call("POST", path, s.live, erp, "Idempotency-Key", key)
	if repeated := dataOf[endpointData](s, again); again.Header.Get("Idempotent-Replayed") != "true" || repeated.ID != made.ID ||
		bytes.Contains(again.Data, []byte("secret")) {
		t.Errorf("the repeated answer is %s", again.Data)
	}
	one := path + "/" + made.ID
	list := s.call("GET", path, s.live, "")
	if all := dataOf[[]endpointData](s, list); len(all) != 1 || all[0].Name != "ERP" || all[0].State != "active" || len(all[0].Types) != 2 ||
		bytes.Contains(list.Data, []byte("secret")) {
		t.Errorf("the list is %s", list.Data)
	}
	opened := func(n int) (texts []string) { // what the connect service signs with
		t.Helper()
		l := commerce.ConnectLease{Holder: fmt.Sprint("reads", n), For: time.Minute}
		leased, err := s.db.LeaseDestinations(t.Context(), []commerce.DestinationKind{commerce.ToWebhook}, l, 10)
		if err != nil || len(leased) != 1 {
			t.Fatalf("%+v, %v", leased, err)
		}
		for _, secret := range leased[0].Secrets {
			plain, err := keys.Open(secret.KeyID, account.SealedFor{CompanyID: s.store.Live.CompanyID, ConnectionID: made.ID,
				Purpose: account.SealWebhook}, secret.Sealed)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(plain))
		}
		now := time.Now()
		if err := s.db.ReleaseDestination(t.Context(), l, leased[0], now, now); err != nil {
			t.Fatal(err)
		}
		return texts
	}
	if got := opened(1); len(got) != 1 || got[0] != made.Secret {
		t.Errorf("it signs with %q", got)
	}
	rotated := dataOf[endpointData](s, s.call("POST", one+"/secret", s.live, ""))
	if got := opened(2); len(got) != 2 || got[0] != rotated.Secret || got[1] != made.Secret || rotated.Secret == made.Secret {
		t.Errorf("it signs with %q", got)
	}

	s.want(s.call("PUT", one, s.live, `{"url":"https://localhost/"}`), 400, "invalid_url")
	s.want(s.call("PUT", one, s.live, `{"enabled":"no"}`), 400, "validation_error")
	s.want(s.call("PUT", one, s.live, `{"name":"Loja","enabled":false,"types":["payout.review"]}`), 200, "")
	if e := dataOf[endpointData](s, s.call("GET", one, s.live, "")); e.Name != "Loja" || e.State != "disabled" || e.Reason == nil ||
		*e.Reason != "merchant" || e.URL != "https://erp.example.com/t" || len(e.Types) != 1 {
		t.Errorf("after the change: %+v", e)
	}
	s.want(s.call("POST", one+"/test", s.live, ""), 409, "webhook_disabled")
	s.want(s.call("PUT", one, s.live, `{"enabled":true}`), 200, "")

	// Who may what, and of whom.
	reader := s.key(s.store.Live.CompanyID, account.ReadWebhooks)
	none := s.key(s.store.Live.CompanyID, account.AdminScopes...)
	s.want(s.call("GET", one, reader, ""), 200, "")
	s.want(s.call("GET", path, none, ""), 403, "insufficient_scope")
	for _, w := range [][3]string{{"POST", path, erp}, {"PUT", one, "{}"}, {"DELETE", one, ""}, {"POST", one + "/secret", ""},
		{"POST", one + "/test", ""}, {"POST", one + "/replay", `{"from":"2026-01-01T00:00:00Z"}`},
		{"POST", one + "/messages/1/resend", ""}} {
		s.want(s.call(w[0], w[1], reader, w[2]), 403, "insufficient_scope")
		other := strings.Replace(w[1], "/admin", "/sandbox/admin", 1)
		if w[1] != path {
			s.want(s.call(w[0], other, s.test, w[2]), 404, "not_found")
		}
	}
	for _, of := range []string{"", "/messages"} {
		s.want(s.call("GET", "/sandbox"+one+of, s.test, ""), 404, "not_found")
		s.want(s.call("GET", path+"/%00"+of, s.live, ""), 404, "not_found")
	}
	s.want(s.call("POST", "/sandbox"+path, s.test, erp), 200, "")

	log, err := s.db.AuditLog(t.Context(), s.store.Live.CompanyID, "", "webhook.", 100)
	if err != nil || len(log) != 4 || log[0].Subject != made.ID || !strings.HasPrefix(log[0].Actor, "key/") {
		t.Errorf("the audit log is %+v, %v", log, err)
	}
	for _, entry := range log {
		if text := fmt.Sprintf("%+v", entry); strings.Contains(text, account.WebhookSecretPrefix) {
			t.Errorf("the audit log has a secret: %s", text)
		}
	}
	s.want(s.call("DELETE", one, s.live, `{"name":"x"}`, "Prefer", "handling=strict"), 400, "validation_error")
	const goes = "9f0f9d3e-0000-4000-8000-000000000002"
	s.want(s.call("DELETE", one, s.live, "", "Idempotency-Key", goes), 200, "")
	if again := s.call("DELETE", one, s.live, "", "Idempotency-Key", goes); again.Status != 200 ||
		again.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the repeated answer is %+v", again)
	}
	s.want(s.call("DELETE", one, s.live, ""), 404, "not_found")
	s.want(s.call("GET", one, s.live, ""), 404, "not_found")
	for n := range commerce.MaxEndpoints {
		s.want(s.call("POST", path, s.live, fmt.Sprintf(`{"name":"n%d","url":"https://erp.example.com/"}`, n)), 200, "")
	}
	if got := s.call("POST", path, s.live, erp); got.Status != 400 || got.Error.Details[0].Code != "too_many" {
		t.Errorf("one too many: %d %+v", got.Status, got.Error)
	}
}

// What became of each message is read page by page, and each may be sent again.
func TestMessagesOfAWebhookAreReadAndSentAgain(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	s.connectOffer()
	const path = "/admin/v1/webhooks"
	made := dataOf[endpointData](s, s.call("POST", path, s.live, `{"name":"ERP","url":"https://erp.example.com/","types":["payout.review"]}`))
	one := path + "/" + made.ID
	var numbers []int
	for range 5 {
		numbers = append(numbers, dataOf[messageData](s, s.call("POST", one+"/test", s.live, "{}")).Sequence)
	}
	if !slices.IsSorted(numbers) || numbers[0] <= 0 {
		t.Errorf("the tests are numbered %v", numbers)
	}
	l := commerce.ConnectLease{Holder: "sends", For: time.Minute}
	leased, err := s.db.LeaseDestinations(t.Context(), []commerce.DestinationKind{commerce.ToWebhook}, l, 10)
	if err != nil || len(leased) != 1 {
		t.Fatalf("%+v, %v", leased, err)
	}
	now := time.Now()
	due, _, err := s.db.DueMessages(t.Context(), l, leased[0], now.Add(time.Second), 10)
	if err != nil || len(due) != 5 { // a test waits for no other one
		t.Fatalf("%d are due, %v", len(due), err)
	}
	if err := s.db.StoreSent(t.Context(), l, leased[0], []commerce.Sent{
		{Number: int64(numbers[0]), State: commerce.MessageDelivered, Try: commerce.Try{At: now, Status: 204, TookMS: 12}},
		{Number: int64(numbers[1]), State: commerce.MessageParked,
			Try: commerce.Try{At: now, Status: 500, Failure: commerce.TryStatus, Answer: "no"}},
		{Number: int64(numbers[2]), State: commerce.MessageWaiting, DueAt: now.Add(time.Hour),
			Try: commerce.Try{At: now, Failure: commerce.TryTimeout}},
	}, commerce.DestinationHealth{FailingSince: now, Failures: 2}); err != nil {
		t.Fatal(err)
	}
	if e := dataOf[endpointData](s, s.call("GET", one, s.live, "")); e.State != "failing" || e.FailingSince == nil || e.Waiting != 3 {
		t.Errorf("the endpoint is %+v", e)
	}
	var all []messageData
	for query := "?limit=2"; ; {
		got := s.call("GET", one+"/messages"+query, s.live, "")
		all = append(all, dataOf[[]messageData](s, got)...)
		if !got.Pagination.HasMore {
			break
		}
		query = "?limit=2&cursor=" + *got.Pagination.NextCursor
	}
	if len(all) != 5 || all[0].Sequence != numbers[4] || all[0].Type != "webhook.test" || all[0].Data["endpoint_id"] != made.ID ||
		len(all[0].Attempts) != 0 || *all[4].Attempts[0].Status != 204 || all[4].Attempts[0].Failure != nil || all[4].DueAt != nil ||
		all[2].Attempts[0].Status != nil || *all[2].Attempts[0].Failure != "timeout" || all[2].DueAt == nil ||
		*all[3].Attempts[0].Answer != "no" || all[4].Attempts[0].Answer != nil {
		t.Errorf("the messages are %+v", all)
	}
	parked := dataOf[[]messageData](s, s.call("GET", one+"/messages?state=parked", s.live, ""))
	if len(parked) != 1 || parked[0].Sequence != numbers[1] {
		t.Errorf("parked are %+v", parked)
	}
	for _, query := range []string{"?state=x", "?state=", "?limit=0", "?cursor=x", "?cursor=" + "LTE"} {
		s.want(s.call("GET", one+"/messages"+query, s.live, ""), 400, "validation_error")
	}
	s.want(s.call("POST", fmt.Sprint(one, "/messages/", numbers[1], "/resend"), s.live, ""), 200, "")
	if waits := dataOf[[]messageData](s, s.call("GET", one+"/messages?state=waiting", s.live, "")); len(waits) != 4 {
		t.Errorf("%d wait", len(waits))
	}
	for _, sequence := range []string{"99", "x", "9999999999999999999999", "-1"} {
		s.want(s.call("POST", one+"/messages/"+sequence+"/resend", s.live, ""), 404, "not_found")
	}

	s.want(s.call("POST", one+"/replay", s.live, `{}`), 400, "validation_error")
	s.want(s.call("POST", one+"/replay", s.live, `{"from":"2026-01-02T00:05:00Z","to":"2026-01-02T00:00:00Z"}`), 400, "validation_error")
	replayed := dataOf[struct {
		Messages int
		Until    time.Time
		More     bool
	}](s, s.call("POST", one+"/replay", s.live, `{"from":"2026-01-02T00:00:00Z","to":"2190-01-01T00:00:00Z"}`))
	if replayed.Messages != 0 || replayed.More || time.Until(replayed.Until) > 0 {
		t.Errorf("replayed %+v", replayed)
	}
	// One goes on from up to 5 minutes after its end.
	const goesOn = "9f0f9d3e-0000-4000-8000-000000000003"
	for range 2 {
		s.want(s.call("POST", one+"/replay", s.live, `{"from":"2026-01-02T00:04:59Z","to":"2026-01-02T00:00:00Z"}`, "Idempotency-Key", goesOn),
			200, "")
	}
	s.want(s.call("PUT", one, s.live, `{"enabled":false}`), 200, "")
	s.want(s.call("POST", fmt.Sprint(one, "/messages/", numbers[1], "/resend"), s.live, ""), 409, "webhook_disabled")
	if log, err := s.db.AuditLog(t.Context(), s.store.Live.CompanyID, "", "webhook.", 100); err != nil || len(log) != 10 {
		t.Errorf("%d entries, %v", len(log), err)
	}
}
