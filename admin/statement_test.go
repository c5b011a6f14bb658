package admin_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/admin/statementlink"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/devtest"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// statementJSON is a statement as the API gives it.
type statementJSON struct {
	ID, Influencer, Currency, State string
	Number                          *int64
	InfluencerID                    string  `json:"influencer_id"`
	StartDate                       *string `json:"start_date"`
	EndDate                         string  `json:"end_date"`
	Opening                         *float64
	Total                           *float64
	Carried                         *bool
	LineCount                       *int `json:"line_count"`
	Lines                           []struct {
		OrderID string
		Date    string
		Amount  float64
	}
	Payment *struct {
		PaidAt    string `json:"paid_at"`
		Reference string
	}
}

// closing is an API on a database with earned commissions: Ana's of three orders in BRL
// and one in USD, Beto's of one. Nothing is produced.
func closing(t *testing.T) (s *service, fix *reporttest.Fixture, ana, beto string) {
	t.Helper()
	s, fix = reading(t)
	s.live = s.key(fix.Store.Live.CompanyID, account.ReadReports, account.WriteInfluencers)
	company, long := fix.Store.Live.CompanyID, time.Now().AddDate(0, 0, -100)
	ana, beto = fix.Influencer(company, "Ana Prado"), fix.Influencer(company, "=Beto Lima")
	put := func(id, influencer, currency string, created time.Time, minor, fee int64) {
		fix.Put(reporttest.Order{CompanyID: company, ID: id, CreatedAt: created, TotalMinor: 20000, Currency: currency, InfluencerID: influencer,
			Evidence: "coupon", CommissionMinor: minor, FixedFeeMinor: fee})
	}
	for i, id := range []string{"a1", "a2", "a3"} {
		put(id, ana, "BRL", long, int64(1000+i), 0)
	}
	put("usd", ana, "USD", long, 500, 250) // its fixed fee is an entry in BRL
	put("b1", beto, "BRL", long, 7000, 0)
	put("held", beto, "BRL", time.Now(), 300, 0)
	fix.Put(reporttest.Order{CompanyID: company, ID: "pending", CreatedAt: long, Status: 1, State: "expected", TotalMinor: 1,
		InfluencerID: ana, CommissionMinor: 11})
	return s, fix, ana, beto
}

func yesterday() string { return time.Now().AddDate(0, 0, -2).Format(time.DateOnly) }

// post sends a body to the live API.
func (s *service) post(path string, body any) answer {
	s.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.call("POST", "/admin/v1"+path, s.live, string(text))
}

type refJSON struct {
	ID, Currency, State string
	InfluencerID        string `json:"influencer_id"`
}

func (s *service) ask(body any) (list []refJSON) {
	s.t.Helper()
	got := s.post("/statements", body)
	s.want(got, 200, "")
	if err := json.Unmarshal(got.Data, &list); err != nil {
		s.t.Fatal(err)
	}
	return list
}

func TestStatementsAreClosedReadAndPaid(t *testing.T) {
	t.Parallel()
	s, fix, ana, beto := closing(t)
	company, end := fix.Store.Live.CompanyID, yesterday()
	payouts := func(want ...string) {
		t.Helper()
		var list []struct {
			Influencer, Currency                  string
			Expected, Review, Held, Payable, Paid float64
		}
		s.get("/payouts", &list)
		var got []string
		for _, b := range list {
			got = append(got, fmt.Sprint(b.Influencer, " ", b.Currency, " ", b.Expected, " ", b.Review, " ", b.Held, " ", b.Payable, " ", b.Paid))
		}
		if !slices.Equal(got, want) {
			t.Errorf("payouts\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
		}
	}
	payouts("=Beto Lima BRL 0 0 3 70 0", "Ana Prado BRL 0.11 0 0 32.53 0", "Ana Prado USD 0 0 0 5 0")

	asked := s.ask(map[string]string{"end_date": end})
	if len(asked) != 3 || asked[0].State != "closing" {
		t.Fatalf("%+v", asked)
	}
	if again := s.ask(map[string]string{"end_date": end}); !reflect.DeepEqual(again, asked) {
		t.Errorf("a repeat asks for %+v, want %+v", again, asked)
	}
	payouts("=Beto Lima BRL 0 0 3 70 0", "Ana Prado BRL 0.11 0 0 32.53 0", "Ana Prado USD 0 0 0 5 0")
	id := func(influencer, currency string) string {
		for _, ref := range asked {
			if ref.InfluencerID == influencer && ref.Currency == currency {
				return ref.ID
			}
		}
		t.Fatalf("no statement of %s in %s", influencer, currency)
		return ""
	}
	anas := id(ana, "BRL")
	var one statementJSON
	s.get("/statements/"+anas, &one)
	if one.State != "closing" || one.Number != nil || one.StartDate != nil || one.Opening != nil || one.Lines == nil || len(one.Lines) > 0 {
		t.Errorf("while it is closing: %+v", one)
	}
	payment := map[string]string{"paid_at": "2026-05-05T12:00:00Z", "reference": "PIX 8127"}
	s.want(s.post("/statements/"+anas+"/payment", payment), 409, "statement_closing")

	fix.Close(company)
	if again := s.ask(map[string]string{"end_date": end}); len(again) != 0 {
		t.Errorf("nothing is left, and %+v was asked for", again)
	}
	payouts("=Beto Lima BRL 0 0 3 70 0", "Ana Prado BRL 0.11 0 0 32.53 0", "Ana Prado USD 0 0 0 5 0")
	one = statementJSON{}
	s.get("/statements/"+strings.ToUpper(anas), &one)
	if one.State != "closed" || one.Influencer != "Ana Prado" || one.Currency != "BRL" || one.EndDate != end || one.LineCount == nil ||
		*one.LineCount != 4 || len(one.Lines) != 4 ||
		one.Lines[0].OrderID != "a1" || one.Lines[0].Amount != 10 || one.Lines[3].OrderID != "usd" || one.Lines[3].Amount != 2.5 ||
		one.Lines[0].Date == "" {
		t.Errorf("%+v", one)
	}
	// After a restore nothing is paid until an owner confirms.
	if marked, err := s.db.MarkRestored(t.Context(), map[string]commerce.LostChanges{company: {Rev: 1 << 30}}); err != nil ||
		len(marked) != 1 {
		t.Fatalf("marked %v, %v", marked, err)
	}
	s.want(s.post("/statements/"+anas+"/payment", payment), 409, "paying_blocked")
	if was, err := s.db.ConfirmRestored(t.Context(), commerce.Author{CompanyID: company, Actor: "cli"}); err != nil || !was {
		t.Fatalf("confirmed: %t, %v", was, err)
	}
	s.want(s.post("/statements/"+anas+"/payment", payment), 200, "")
	s.want(s.post("/statements/"+anas+"/payment", payment), 200, "")
	payment["reference"] = "PIX 8128"
	s.want(s.post("/statements/"+anas+"/payment", payment), 409, "statement_paid")
	one = statementJSON{}
	s.get("/statements/"+anas, &one)
	if one.State != "paid" || one.Payment == nil || one.Payment.PaidAt != "2026-05-05T12:00:00Z" || one.Payment.Reference != "PIX 8127" {
		t.Errorf("%+v", one)
	}
	payouts("=Beto Lima BRL 0 0 3 70 0", "Ana Prado BRL 0.11 0 0 0 32.53", "Ana Prado USD 0 0 0 5 0")

	// The payment came back: it is undone, posts nothing, and the statement is paid by another one.
	undo := func() answer {
		return s.call("DELETE", "/admin/v1/statements/"+anas+"/payment", s.live, `{"reason":"The bank sent it back"}`)
	}
	s.want(s.call("DELETE", "/admin/v1/statements/"+anas+"/payment", s.live, `{"reason":" "}`), 400, "validation_error")
	s.want(undo(), 200, "")
	s.want(undo(), 409, "statement_unpaid")
	payouts("=Beto Lima BRL 0 0 3 70 0", "Ana Prado BRL 0.11 0 0 32.53 0", "Ana Prado USD 0 0 0 5 0")
	one = statementJSON{}
	if s.get("/statements/"+anas, &one); one.State != "closed" || one.Payment != nil {
		t.Errorf("after the undo: %+v", one)
	}
	s.want(s.post("/statements/"+anas+"/payment", payment), 200, "")
	payouts("=Beto Lima BRL 0 0 3 70 0", "Ana Prado BRL 0.11 0 0 0 32.53", "Ana Prado USD 0 0 0 5 0")

	// A return after that: the next statement is negative, and carried.
	fix.Put(reporttest.Order{CompanyID: company, ID: "a4", CreatedAt: time.Now().AddDate(0, 0, -100), TotalMinor: 1, InfluencerID: ana,
		CommissionMinor: -400})
	carried := s.ask(map[string]string{"end_date": end, "influencer_id": ana})
	if len(carried) != 1 {
		t.Fatalf("%+v", carried)
	}
	fix.Close(company)
	s.want(s.post("/statements/"+carried[0].ID+"/payment", payment), 409, "statement_carried")
	payouts("=Beto Lima BRL 0 0 3 70 0", "Ana Prado BRL 0.11 0 0 -4 32.53", "Ana Prado USD 0 0 0 5 0")
	if more := s.ask(map[string]string{"end_date": end, "influencer_id": ana}); len(more) != 0 {
		t.Errorf("what is negative alone makes no statement: %+v", more)
	}

	var list []statementJSON
	s.get("/statements", &list)
	numbers := map[int64]bool{}
	for _, one := range list {
		numbers[*one.Number] = true
	}
	if !reflect.DeepEqual(numbers, map[int64]bool{1: true, 2: true, 3: true, 4: true}) {
		t.Errorf("the numbers are %v", numbers)
	}
	f := func(query string, want ...string) {
		t.Helper()
		s.get("/statements"+query, &list)
		var got []string
		for _, one := range list {
			got = append(got, one.ID)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	f("", anas, id(ana, "USD"), id(beto, "BRL"), carried[0].ID)
	f("?state=paid", anas)
	f("?state=closed", id(ana, "USD"), id(beto, "BRL"), carried[0].ID)
	f("?state=closing")
	f("?influencer_id="+beto, id(beto, "BRL"))
	f("?influencer_id=" + beto + "&state=paid")
}

func TestTheMinimumPayoutOfTheStoresCurrencyCarriesATotal(t *testing.T) {
	t.Parallel()
	s, fix, ana, _ := closing(t)
	company := fix.Store.Live.CompanyID
	minimum := func(amount string) {
		t.Helper()
		if _, _, err := s.db.ChangeSettings(t.Context(),
			commerce.SettingsChange{CompanyID: company, Actor: "test", Change: func(s *commerce.Settings) {
				s.MinimumPayout = amount
			}}); err != nil {
			t.Fatal(err)
		}
	}
	minimum("32.54")
	carried := map[string]bool{}
	for _, ref := range s.ask(map[string]string{"end_date": yesterday(), "influencer_id": ana}) {
		fix.Close(company)
		var one statementJSON
		s.get("/statements/"+ref.ID, &one)
		carried[one.Currency] = *one.Carried
	}
	if !reflect.DeepEqual(carried, map[string]bool{"BRL": true, "USD": false}) {
		t.Errorf("carried: %v", carried)
	}
	// A lower minimum from now on: the carried total alone makes a statement.
	minimum("32.53")
	next := s.ask(map[string]string{"end_date": yesterday(), "influencer_id": ana})
	if len(next) != 1 || next[0].Currency != "BRL" {
		t.Fatalf("%+v", next)
	}
	fix.Close(company)
	var one statementJSON
	s.get("/statements/"+next[0].ID, &one)
	if *one.Carried || *one.Opening != 32.53 || *one.LineCount != 0 {
		t.Errorf("%+v", one)
	}
	s.want(s.post("/statements/"+next[0].ID+"/payment", map[string]string{"paid_at": "2026-05-05T12:00:00Z", "reference": "1"}), 200, "")
	var entries []struct{ OrderID, Currency, State string }
	s.get("/ledger?influencer_id="+ana, &entries)
	for _, e := range entries {
		if want := map[string]string{"BRL": "paid", "USD": "payable"}[e.Currency]; e.State != want {
			t.Errorf("%+v, want %s", e, want)
		}
	}
}

// Of many who close at once each line is in one statement.
func TestStatementsAskedForAtOnceAreTheSame(t *testing.T) {
	t.Parallel()
	s, fix, _, _ := closing(t)
	var group sync.WaitGroup
	answers := make([][]refJSON, 6)
	for i := range answers {
		group.Go(func() { answers[i] = s.ask(map[string]string{"end_date": yesterday()}) })
	}
	group.Wait()
	for _, got := range answers {
		if !reflect.DeepEqual(got, answers[0]) || len(got) != 3 {
			t.Errorf("%+v and %+v", got, answers[0])
		}
	}
	fix.Close(fix.Store.Live.CompanyID)
	var list []statementJSON
	if s.get("/statements", &list); len(list) != 3 {
		t.Errorf("%d statements", len(list))
	}
}

func TestBadRequestsAboutStatementsSayWhy(t *testing.T) {
	t.Parallel()
	s, fix, _, _ := closing(t)
	const unknown = "019cd7a4-2e00-7000-8000-00000000000f"
	f := func(method, path, body string, status int, code, field, message string) {
		t.Helper()
		got := s.call(method, "/admin/v1"+path, s.live, body)
		s.want(got, status, code)
		if field == "" {
			return
		}
		for _, d := range got.Error.Details {
			if d.Field == field && strings.Contains(d.Message, message) {
				return
			}
		}
		t.Errorf("%s %s %s: no %q about %s in %+v", method, path, body, message, field, got.Error.Details)
	}
	tomorrow := time.Now().In(saoPaulo(t)).AddDate(0, 0, 1).Format(time.DateOnly)
	f("POST", "/statements", `{"end_date":"`+tomorrow+`"}`, 400, "invalid_date", "end_date", "is in the future")
	f("POST", "/statements", `{}`, 400, "validation_error", "end_date", "is required")
	f("POST", "/statements", `{"end_date":"31/10/2026"}`, 400, "invalid_date", "end_date", "YYYY-MM-DD")
	f("POST", "/statements", `{"end_date":"2026-01-01","influencer_id":"ana"}`, 400, "validation_error", "influencer_id", "UUID")
	f("POST", "/statements", `{"end_date":"2026-01-01","influencer_id":"`+unknown+`"}`, 404, "not_found", "", "")
	f("POST", "/statements/"+unknown+"/payment", `{"paid_at":"2026-01-01T00:00:00Z","reference":"1"}`, 404, "not_found", "", "")
	f("POST", "/statements/x/payment", `{"paid_at":"2026-01-01T00:00:00Z","reference":"1"}`, 404, "not_found", "", "")
	f("POST", "/statements/"+unknown+"/payment", `{}`, 400, "validation_error", "reference", "is required")
	f("POST", "/statements/"+unknown+"/payment", `{"paid_at":"2026-01-01","reference":"1"}`, 400, "validation_error", "paid_at", "time zone")
	f("POST", "/statements/"+unknown+"/payment", `{"paid_at":"2150-01-01T00:00:00Z","reference":"1"}`, 400, "validation_error",
		"paid_at", "is in the future")
	f("POST", "/statements/"+unknown+"/payment", `{"paid_at":"2026-01-01T00:00:00Z","reference":" "}`, 400, "validation_error",
		"reference", "is empty")
	f("GET", "/statements/"+unknown, "", 404, "not_found", "", "")
	f("GET", "/statements/x", "", 404, "not_found", "", "")
	f("GET", "/statements?state=open", "", 400, "validation_error", "state", "closing, closed, paid")
	f("GET", "/statements?cursor=x", "", 400, "validation_error", "cursor", "next_cursor")
	f("GET", "/statements/"+unknown+"?limit=1001", "", 400, "validation_error", "limit", "between 1 and 1000")
	f("GET", "/ledger?state=open", "", 400, "validation_error", "state", "held, payable, paid")
	f("GET", "/ledger?start_date=2026-02-02&end_date=2026-02-01", "", 400, "invalid_date", "end_date", "before start_date")
	f("GET", "/ledger?influencer_id=x", "", 400, "validation_error", "influencer_id", "UUID")
	f("GET", "/payouts?limit=0", "", 400, "validation_error", "limit", "between 1 and 100")
	f("GET", "/payouts?cursor=x", "", 400, "validation_error", "cursor", "next_cursor")
	f("GET", "/payouts?format=xml", "", 400, "validation_error", "format", "json or csv")
	readOnly := s.key(fix.Store.Live.CompanyID, account.ReadReports)
	s.want(s.call("POST", "/admin/v1/statements", readOnly, `{"end_date":"2026-01-01"}`), 403, "insufficient_scope")
	writer := s.key(fix.Store.Live.CompanyID, account.WriteInfluencers)
	for _, path := range []string{"/payouts", "/ledger", "/statements", "/statements/" + unknown} {
		s.want(s.call("GET", "/admin/v1"+path, writer, ""), 403, "insufficient_scope")
	}
}

// closedStatement is the id of a statement of R$ 1.00 that is closed, made without a processor, and whose it is.
func (s *service) closedStatement() (id, influencerID string) {
	s.t.Helper()
	company := s.store.Live.CompanyID
	s.want(s.call("POST", "/admin/v1/influencers", s.live, `{"name":"Ana Prado","links":[{"url":"https://loja.example.com/"}]}`), 200, "")
	var list []struct{ ID string }
	s.get("/influencers", &list)
	s.sql(`insert into ledger_entry (company_id, order_id, entry, at, kind, influencer_id, cost_id, amount_minor, currency, rule_rev, cause,
		payable_on)
		values ($1, 'o1', 1, now(), 'earned', $2, $2, 100, 'BRL', 1, 'rule 1 settings', '2026-01-01')`, company, list[0].ID)
	asked := s.ask(map[string]string{"end_date": "2026-01-31"})
	s.sql(`update statement set closed_at = now(), carried = false, opening_minor = 0, total_minor = 100, lines = 1, number = 1
		where company_id = $1`, company)
	return asked[0].ID, list[0].ID
}

// What is asked for and paid travels as records of commerce.v1, in the order in which it
// was done.
func TestStatementsAndPaymentsAreRecords(t *testing.T) {
	t.Parallel()
	dsn := devtest.Postgres(t)
	s := startOn(t, admin.Config{}, dsn, devtest.Kafka(t))
	company := s.store.Live.CompanyID
	id, ana := s.closedStatement()
	for range 2 {
		s.want(s.post("/statements/"+id+"/payment", map[string]string{"paid_at": "2026-02-05T12:00:00Z", "reference": "1"}), 200, "")
		if waiting, err := s.db.OutboxWaits(t.Context(), company, 0); err != nil || waiting != 0 {
			t.Fatalf("a payment is answered, and record %d is not on Kafka yet; %v", waiting, err)
		}
	}
	var records []wire.Commerce
	s.read(wire.TopicCommerce, devtest.Partitions, func(r kafka.Record) bool {
		var c wire.Commerce
		if err := json.Unmarshal(r.Value, &c); err != nil {
			t.Errorf("%s: %v", r.Value, err)
		}
		if c.Kind == wire.KindStatement || c.Kind == wire.KindPayment {
			records = append(records, c)
		}
		return len(records) == 2
	})
	if len(records) != 2 || records[0].Rev >= records[1].Rev || records[0].CompanyID != company || records[0].ID != id {
		t.Fatalf("%+v", records)
	}
	var statement wire.Statement
	var payment wire.Payment
	if json.Unmarshal(records[0].Body, &statement) != nil ||
		statement != (wire.Statement{StatementID: id, InfluencerID: ana, Currency: "BRL", EndDate: "2026-01-31"}) {
		t.Errorf("%s", records[0].Body)
	}
	if json.Unmarshal(records[1].Body, &payment) != nil || payment.StatementID != id || payment.Reference != "1" ||
		payment.PaidAt.Format(http.TimeFormat) != "Thu, 05 Feb 2026 12:00:00 GMT" {
		t.Errorf("%s", records[1].Body)
	}
}

// A link to a statement is that of the installation's secret, until it is revoked; only a key
// that may write makes one.
func TestALinkShowsAStatement(t *testing.T) {
	t.Parallel()
	s, fix, ana, _ := closing(t)
	company := fix.Store.Live.CompanyID
	id := fix.Ask(company, ana, "BRL", yesterday(), 0)
	fix.Close(company)
	signer, err := statementlink.NewSigner(bytes.Repeat([]byte("t"), 32), nil)
	if err != nil {
		t.Fatal(err)
	}
	read := func(body any) statementlink.Link {
		t.Helper()
		got := s.post("/statements/"+id+"/link", body)
		s.want(got, 200, "")
		var made struct {
			URL     string
			Expires time.Time `json:"expires_at"`
		}
		if err := json.Unmarshal(got.Data, &made); err != nil {
			t.Fatal(err)
		}
		token, found := strings.CutPrefix(made.URL, s.url+statementlink.Path)
		l, err := signer.Read(token, time.Now())
		if !found || err != nil || l.CompanyID != company || l.StatementID != id || l.InfluencerID != ana || !l.Expires.Equal(made.Expires) {
			t.Errorf("%s: %+v, %v", made.URL, l, err)
		}
		return l
	}
	days := func(l statementlink.Link) int { return int(time.Until(l.Expires).Hours()/24 + .5) }
	first, second := read(map[string]any{}), read(map[string]any{"days": 7})
	if days(first) != 30 || days(second) != 7 || first.Number != second.Number {
		t.Errorf("%+v, %+v", first, second)
	}
	if _, err := fix.DB.LinkedStatement(t.Context(), company, id, ana, first.Number); err != nil {
		t.Error(err)
	}
	third := read(map[string]any{"revoke": true})
	if _, err := fix.DB.LinkedStatement(t.Context(), company, id, ana, first.Number); !errors.Is(err, commerce.ErrNotFound) ||
		third.Number == first.Number {
		t.Errorf("a revoked link works: %v", err)
	}
	for _, wrong := range []map[string]any{{"days": 0}, {"days": 366}, {"days": "7d"}, {"revoke": 1}} {
		s.want(s.post("/statements/"+id+"/link", wrong), 400, "validation_error")
	}
	s.want(s.post("/statements/"+fix.Store.StoreID+"/link", map[string]any{}), 404, "not_found")
	s.want(s.post("/statements/01938a4e-6f5a-7c11-a6c1-0d3cf5a0a5b2/link", map[string]any{}), 404, "not_found")
	s.live = s.key(company, account.ReadReports)
	s.want(s.post("/statements/"+id+"/link", map[string]any{}), 403, "insufficient_scope")
}

// While Kafka is away a payment is not answered as done: the database alone has it. The same request is, once Kafka is back.
func TestAPaymentIsAnsweredWhenKafkaHasIt(t *testing.T) {
	t.Parallel()
	dsn, broker := devtest.Postgres(t), devtest.Kafka(t)
	s := startWith(t, admin.Config{}, dsn, broker, func(d *admin.Deps) { d.Producer = awayKafka{} })
	company := s.store.Live.CompanyID
	id, _ := s.closedStatement()
	payment := map[string]string{"paid_at": "2026-02-05T12:00:00Z", "reference": "1"}
	s.want(s.post("/statements/"+id+"/payment", payment), 503, "unavailable")
	s.want(s.call("PUT", "/admin/v1/influencers", s.live, `{"name":"Ana Prado","category":"Moda"}`), 503, "unavailable")
	s.stop()
	back := startOn(t, admin.Config{}, dsn, broker)
	back.live, back.store = s.live, s.store
	back.want(back.post("/statements/"+id+"/payment", payment), 200, "")
	if waiting, err := back.db.OutboxWaits(t.Context(), company, 0); err != nil || waiting != 0 {
		t.Errorf("record %d is not on Kafka yet; %v", waiting, err)
	}
}
