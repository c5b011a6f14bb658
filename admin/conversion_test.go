package admin_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

type networkData struct {
	ID        string
	Name      string
	Network   string
	AccountID string  `json:"account_id"`
	ActionID  *string `json:"action_id"`
	LoginID   *string `json:"login_id"`
	TestCode  *string `json:"test_code"`
	AllOrders bool    `json:"all_orders"`
	State     string
	Reason    *string
}

const (
	conversionsPath = "/admin/v1/conversions"
	metaAccount     = `{"name":" Meta ","network":"meta","account_id":"1234567890","secret":"EAABsecret","test_code":"TEST1"}`
)

// A key of one kind of receivers reaches none of the other kind: with the id of an account at a network in the path of webhooks, and with
// that of an endpoint in the path of conversions.
func TestAKeyOfWebhooksReachesNoNetworkAndTheOtherWayRound(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	s.connectOffer()
	const webhooksPath = "/admin/v1/webhooks"
	network := dataOf[networkData](s, s.call("POST", conversionsPath, s.live, metaAccount)).ID
	endpoint := dataOf[endpointData](s, s.call("POST", webhooksPath, s.live, `{"name":"ERP","url":"https://erp.example.com/t"}`)).ID
	company := s.store.Live.CompanyID
	for _, id := range []string{network, endpoint} {
		sequence, err := s.db.TestEndpoint(t.Context(), commerce.Author{CompanyID: company, Actor: "test", At: time.Now()}, id)
		if err != nil {
			t.Fatal(err)
		}
		path, other, key := webhooksPath, conversionsPath, s.key(company, account.ReadWebhooks, account.WriteWebhooks)
		if id == endpoint {
			path, other, key = conversionsPath, webhooksPath, s.key(company, account.ReadConversions, account.WriteConversions)
		}
		one := path + "/" + id
		secret := map[string]string{webhooksPath: "POST", conversionsPath: "PUT"}
		for _, try := range [][3]string{{"GET", one, ""}, {"PUT", one, `{"enabled":false}`}, {"DELETE", one, ""}, {"GET", one + "/messages", ""},
			{secret[path], one + "/secret", `{"secret":"EAABother"}`}, {"POST", one + "/test", ""},
			{"POST", one + "/replay", `{"from":"2026-01-01T00:00:00Z"}`}, {"POST", fmt.Sprint(one, "/messages/", sequence, "/resend"), ""}} {
			if got := s.call(try[0], try[1], key, try[2]); got.Status != 404 {
				t.Errorf("%s %s: %d %s", try[0], try[1], got.Status, got.Data)
			}
			theirs := strings.Replace(try[1], path, other, 1)
			method := try[0]
			if strings.HasSuffix(theirs, "/secret") {
				method = secret[other]
			}
			s.want(s.call(method, theirs, key, try[2]), 403, "insufficient_scope")
		}
		s.want(s.call("GET", other, key, ""), 403, "insufficient_scope")
		list := s.call("GET", path, key, "")
		if s.want(list, 200, ""); strings.Contains(string(list.Data), id) {
			t.Errorf("the list has it: %s", list.Data)
		}
	}
	if n := s.count(`select count(*) from destination where company_id = $1 and state = 'active'`, company); n != 2 {
		t.Errorf("%d are left as they were", n)
	}
}

func TestAccountsAtNetworksComeChangeAndGo(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	s.want(s.call("POST", conversionsPath, s.live, metaAccount), 503, "unavailable")
	keys := s.connectOffer()
	for field, bad := range map[string]string{
		"name":       `{"name":" ","network":"meta","account_id":"1234567890","secret":"x"}`,
		"network":    `{"name":"x","network":"webhook","account_id":"1234567890","secret":"x"}`,
		"account_id": `{"name":"x","network":"ga4","account_id":"1234567890","secret":"x"}`,
		"action_id":  `{"name":"x","network":"meta","account_id":"1234567890","action_id":"1","secret":"x"}`,
		"login_id":   `{"name":"x","network":"tiktok","account_id":"C4ABCDEFGH","login_id":"1","secret":"x"}`,
		"test_code":  `{"name":"x","network":"ga4","account_id":"G-ABCD1234","test_code":"TEST1","secret":"x"}`,
		"secret":     `{"name":"x","network":"google","account_id":"1234567890","action_id":"7","secret":"{}"}`,
		"all_orders": `{"name":"x","network":"meta","account_id":"1234567890","secret":"x","all_orders":"yes"}`,
	} {
		got := s.call("POST", conversionsPath, s.live, bad)
		if got.Status != 400 || len(got.Error.Details) != 1 || got.Error.Details[0].Field != field {
			t.Errorf("%s: %d %+v", field, got.Status, got.Error)
		}
	}
	for _, none := range []string{`{"name":"x","network":"meta","account_id":"1234567890"}`,
		`{"name":"x","network":"meta","account_id":"1234567890","secret":" "}`, `{"name":"x"}`} {
		s.want(s.call("POST", conversionsPath, s.live, none), 400, "validation_error")
	}
	const repeated = "9f0f9d3e-0000-4000-8000-000000000011"
	got := s.call("POST", conversionsPath, s.live, metaAccount, "Idempotency-Key", repeated)
	made := dataOf[networkData](s, got)
	if again := s.call("POST", conversionsPath, s.live, metaAccount, "Idempotency-Key", repeated); string(again.Data) != string(got.Data) ||
		!strings.HasPrefix(made.ID, commerce.NetworkPrefix) || strings.Contains(string(got.Data), "EAAB") {
		t.Errorf("added: %s, again: %s", got.Data, again.Data)
	}
	one := conversionsPath + "/" + made.ID
	if n := dataOf[networkData](s, s.call("GET", one, s.live, "")); n.Name != "Meta" || n.Network != "meta" || n.AccountID != "1234567890" ||
		n.TestCode == nil || *n.TestCode != "TEST1" || n.ActionID != nil || n.LoginID != nil || n.AllOrders || n.State != "active" {
		t.Errorf("it is %+v", n)
	}
	opened := func(n int) string { // what the connect service sends by
		t.Helper()
		l := commerce.ConnectLease{Holder: fmt.Sprint("reads", n), For: time.Minute}
		leased, err := s.db.LeaseDestinations(t.Context(), commerce.Networks, l, 10)
		if err != nil || len(leased) != 1 || len(leased[0].Secrets) != 1 {
			t.Fatalf("%+v, %v", leased, err)
		}
		plain, err := keys.Open(leased[0].Secrets[0].KeyID, account.SealedFor{CompanyID: s.store.Live.CompanyID, ConnectionID: made.ID,
			Purpose: account.SealNetwork}, leased[0].Secrets[0].Sealed)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		if err := s.db.ReleaseDestination(t.Context(), l, leased[0], now, now); err != nil {
			t.Fatal(err)
		}
		return string(plain)
	}
	if got := opened(1); got != "EAABsecret" {
		t.Errorf("it sends by %q", got)
	}
	s.want(s.call("PUT", one+"/secret", s.live, `{"secret":"with space"}`), 400, "validation_error")
	s.want(s.call("PUT", one+"/secret", s.live, `{}`), 400, "validation_error")
	s.want(s.call("PUT", one+"/secret", s.live, `{"secret":"EAABnew\n"}`), 200, "")
	if got := opened(2); got != "EAABnew" {
		t.Errorf("it sends by %q", got)
	}

	// What is not sent stays; null ends a test; the network cannot change.
	s.want(s.call("PUT", one, s.live, `{"account_id":"G-ABCD1234"}`), 400, "validation_error")
	s.want(s.call("PUT", one, s.live, `{"network":"tiktok"}`, "Prefer", "handling=strict"), 400, "validation_error")
	s.want(s.call("PUT", one, s.live, `{"all_orders":true}`), 200, "")
	s.want(s.call("PUT", one, s.live, `{"name":"Meta 2","test_code":null,"enabled":false}`), 200, "")
	if n := dataOf[networkData](s, s.call("GET", one, s.live, "")); n.Name != "Meta 2" || n.TestCode != nil || !n.AllOrders ||
		n.AccountID != "1234567890" || n.State != "disabled" || n.Reason == nil || *n.Reason != "merchant" {
		t.Errorf("after the change: %+v", n)
	}
	s.want(s.call("POST", one+"/test", s.live, ""), 409, "network_disabled")
	s.want(s.call("PUT", one, s.live, `{"enabled":true}`), 200, "")
	uncoded := s.call("POST", one+"/test", s.live, "")
	if s.want(uncoded, 400, "validation_error"); !strings.Contains(fmt.Sprint(uncoded.Error.Details), "test_code") {
		t.Errorf("a test that would count: %+v", uncoded.Error)
	}
	google := `{"name":"Google","network":"google","account_id":"1234567890","action_id":"98765","login_id":"1112223334",` +
		`"test_code":"check","all_orders":true,"secret":` + quoted(serviceAccount(t)) + `}`
	s.want(s.call("POST", conversionsPath, s.live, strings.Replace(google, "PRIVATE KEY-----", "KEY-----", 1)), 400, "validation_error")
	other := dataOf[networkData](s, s.call("POST", conversionsPath, s.live, google))
	if n := dataOf[networkData](s, s.call("GET", conversionsPath+"/"+other.ID, s.live, "")); n.ActionID == nil || *n.ActionID != "98765" ||
		*n.LoginID != "1112223334" || !n.AllOrders || *n.TestCode != "check" {
		t.Errorf("Google's is %+v", n)
	}
	if list := dataOf[[]networkData](s, s.call("GET", conversionsPath, s.live, "")); len(list) != 2 || list[0].ID != made.ID {
		t.Errorf("the list is %+v", list)
	}

	// Who may what, and of whom.
	reader, usual := s.key(s.store.Live.CompanyID, account.ReadConversions), s.key(s.store.Live.CompanyID, account.AdminScopes...)
	s.want(s.call("GET", one, reader, ""), 200, "")
	s.want(s.call("GET", conversionsPath, usual, ""), 403, "insufficient_scope")
	for _, w := range [][3]string{{"POST", conversionsPath, metaAccount}, {"PUT", one, "{}"}, {"DELETE", one, ""},
		{"PUT", one + "/secret", `{"secret":"x"}`}, {"POST", one + "/test", ""}, {"POST", one + "/replay", `{"from":"2026-01-01T00:00:00Z"}`},
		{"POST", one + "/messages/1/resend", ""}} {
		s.want(s.call(w[0], w[1], reader, w[2]), 403, "insufficient_scope")
		if w[1] != conversionsPath {
			s.want(s.call(w[0], "/sandbox"+w[1], s.test, w[2]), 404, "not_found")
		}
	}

	log, err := s.db.AuditLog(t.Context(), s.store.Live.CompanyID, "", "network.", 100)
	if err != nil || len(log) != 6 {
		t.Errorf("the audit log is %+v, %v", log, err)
	}
	for _, entry := range log {
		if text := fmt.Sprintf("%+v", entry); strings.Contains(text, "EAAB") || strings.Contains(text, "PRIVATE") {
			t.Errorf("the audit log has a secret: %s", text)
		}
	}
	s.want(s.call("DELETE", one, s.live, ""), 200, "")
	s.want(s.call("GET", one, s.live, ""), 404, "not_found")
	another := func(n int) string { return strings.Replace(metaAccount, "1234567890", fmt.Sprint(1234567890+n), 1) }
	for n := range commerce.MaxNetworks - 1 {
		made = dataOf[networkData](s, s.call("POST", conversionsPath, s.live, another(n)))
		if got := s.call("POST", conversionsPath, s.live, another(n)); got.Status != 400 || got.Error.Details[0].Field != "account_id" {
			t.Errorf("the same account again: %d %+v", got.Status, got.Error)
		}
	}
	if got := s.call("PUT", conversionsPath+"/"+made.ID, s.live, `{"account_id":"1234567890"}`); got.Status != 400 ||
		got.Error.Details[0].Code != "conflict" {
		t.Errorf("changed to another's: %d %+v", got.Status, got.Error)
	}
	if got := s.call("POST", conversionsPath, s.live, another(99)); got.Status != 400 || got.Error.Details[0].Code != "too_many" {
		t.Errorf("one too many: %d %+v", got.Status, got.Error)
	}
}

// serviceAccount is a key file as Google makes it for a service account.
func serviceAccount(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	file, err := json.Marshal(commerce.ServiceAccount{Type: "service_account", Email: "a@b.iam.gserviceaccount.com", KeyID: "k",
		Key: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), TokenAt: commerce.GoogleTokenURL})
	if err != nil {
		t.Fatal(err)
	}
	return string(file)
}

func quoted(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

// What became of each message is read, with why one was not sent, and each may be looked at again.
func TestMessagesOfANetworkAreRead(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	s.connectOffer()
	made := dataOf[networkData](s, s.call("POST", conversionsPath, s.live, metaAccount))
	one := conversionsPath + "/" + made.ID
	number := dataOf[messageData](s, s.call("POST", one+"/test", s.live, "")).Sequence
	l := commerce.ConnectLease{Holder: "sends", For: time.Minute}
	leased, err := s.db.LeaseDestinations(t.Context(), commerce.Networks, l, 10)
	if err != nil || len(leased) != 1 {
		t.Fatalf("%+v, %v", leased, err)
	}
	if err := s.db.StoreSent(t.Context(), l, leased[0], []commerce.Sent{{Number: int64(number), State: commerce.MessageSkipped,
		Try: commerce.Try{At: time.Now(), Failure: commerce.SkipNoConsent}}}, commerce.DestinationHealth{}); err != nil {
		t.Fatal(err)
	}
	skipped := s.call("GET", one+"/messages?state=skipped", s.live, "")
	if list := dataOf[[]messageData](s, skipped); len(list) != 1 || list[0].Type != "conversion.test" || list[0].State != "skipped" ||
		len(list[0].Attempts) != 1 || *list[0].Attempts[0].Failure != "no_consent" || strings.Contains(string(skipped.Data), "webhook_id") {
		t.Errorf("skipped are %s", skipped.Data)
	}
	if text, _ := s.table(strings.TrimPrefix(one, "/admin/v1") + "/messages?format=csv"); !strings.Contains(text, ",skipped,") ||
		strings.Contains(text, "webhook_id") {
		t.Errorf("the table is %s", text)
	}
	s.want(s.call("GET", one+"/messages?state=lost", s.live, ""), 400, "validation_error")
	s.want(s.call("POST", fmt.Sprint(one, "/messages/", number, "/resend"), s.live, ""), 200, "")
	s.want(s.call("POST", one+"/messages/99/resend", s.live, ""), 404, "not_found")
	if list := dataOf[[]messageData](s, s.call("GET", one+"/messages?state=waiting", s.live, "")); len(list) != 1 {
		t.Errorf("%d wait", len(list))
	}
	s.want(s.call("POST", one+"/replay", s.live, `{"from":"2026-01-02T00:00:00Z"}`), 200, "")
}

// Who asked for an erasure reads how far it is, and to which networks it is to be passed on.
func TestAnErasureSaysWhatNetworksWereTold(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	made := dataOf[erasure](s, s.call("POST", "/admin/v1/erasures", s.live, `{"email":"ana@example.com"}`))
	type told struct {
		Network, Account string
		OrderID          string  `json:"orderId"`
		SentAt           *string `json:"sent_at"`
	}
	type state struct {
		ID, State       string
		Exports         []string
		Conversions     []told
		ConversionsMore bool `json:"conversions_more"`
	}
	read := func() state {
		t.Helper()
		return dataOf[state](s, s.call("GET", "/admin/v1/erasures/"+made.ID, s.live, ""))
	}
	if e := read(); e.ID != made.ID || e.State != "erasing" || e.Conversions == nil || len(e.Conversions) != 0 || e.Exports == nil {
		t.Errorf("before: %+v", e)
	}
	company := s.store.Live.CompanyID
	s.sql(`insert into erased_order (company_id, order_id, erasure_id) select $1, 'o' || n, $2 from generate_series(1, 1001) n`, company,
		made.ID)
	s.sql(`insert into conversion (company_id, order_id, network, account, begun_at, sent_at, currency, value_minor) values
		($1, 'o1', 'meta', '1234567890', now(), now(), 'BRL', 100), ($1, 'o2', 'ga4', 'G-ABCD1234', now(), null, 'BRL', 100),
		($1, 'other', 'meta', '1234567890', now(), now(), 'BRL', 100)`, company)
	if e := read(); len(e.Conversions) != 2 || e.ConversionsMore || e.Conversions[0].Network != "ga4" || e.Conversions[0].SentAt != nil ||
		e.Conversions[1].Account != "1234567890" || e.Conversions[1].OrderID != "o1" || e.Conversions[1].SentAt == nil {
		t.Errorf("after: %+v", e)
	}
	s.sql(`insert into conversion (company_id, order_id, network, account, begun_at, currency, value_minor)
		select $1, 'o' || n, 'tiktok', 'C4ABCDEFGH', now(), 'BRL', 1 from generate_series(1, 1001) n`, company)
	if e := read(); len(e.Conversions) != 1000 || !e.ConversionsMore {
		t.Errorf("%d conversions, more %t", len(e.Conversions), e.ConversionsMore)
	}
	for _, none := range []string{"x", "%00", "0195b2c0-0000-7000-8000-000000000000"} {
		s.want(s.call("GET", "/admin/v1/erasures/"+none, s.live, ""), 404, "not_found")
	}
	s.want(s.call("GET", "/sandbox/admin/v1/erasures/"+made.ID, s.test, ""), 404, "not_found")
	s.want(s.call("GET", "/admin/v1/erasures/"+made.ID, s.key(company, account.ReadConversions), ""), 403, "insufficient_scope")
}
