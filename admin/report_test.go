package admin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/admin/statementlink"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/reports"
	"github.com/tributary-io/tributary/test/devtest"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// reading is an API on a database with what a processor left.
func reading(t *testing.T) (*service, *reporttest.Fixture) {
	t.Helper()
	fixture := reporttest.New(t)
	client, err := kafka.NewClient(kafka.Config{Brokers: []string{devtest.Kafka(t)}, ClientID: "admin-test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	hasher, err := identity.NewHasher(bytes.Repeat([]byte("s"), 32))
	if err != nil {
		t.Fatal(err)
	}
	signer, err := statementlink.NewSigner(bytes.Repeat([]byte("t"), 32), nil)
	if err != nil {
		t.Fatal(err)
	}
	server, err := admin.New(admin.Config{ShortBase: "go.example.com", DependencyTimeout: time.Minute,
		RuleRate: admin.Rate{PerSecond: 1000, Burst: 1000}},
		admin.Deps{Database: fixture.DB, Producer: kafka.NewProducer(client), Hasher: hasher, Links: links{signer}})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	ctx, stop := context.WithCancel(context.Background())
	var ran sync.WaitGroup
	ran.Go(func() { server.Run(ctx) })
	t.Cleanup(func() { stop(); ran.Wait() })
	s := &service{t: t, url: web.URL, db: stores(fixture.DB), store: fixture.Store}
	s.live = s.key(fixture.Store.Live.CompanyID, account.ReadReports)
	s.test = s.key(fixture.Store.Sandbox.CompanyID, account.ReadReports)
	return s, fixture
}

// get reads a path of the live API, which must answer 200.
func (s *service) get(path string, into any) answer {
	s.t.Helper()
	got := s.call("GET", "/admin/v1"+path, s.live, "")
	s.want(got, 200, "")
	if err := json.Unmarshal(got.Data, into); err != nil {
		s.t.Fatal(err)
	}
	return got
}

// table reads a path as CSV.
func (s *service) table(path string) (text string, header http.Header) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+"/admin/v1"+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.live)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	s.conform(request, "", response, raw)
	if response.StatusCode != 200 || !strings.HasPrefix(response.Header.Get("Content-Type"), "text/csv") {
		s.t.Fatalf("%s: %d %s %s", path, response.StatusCode, response.Header.Get("Content-Type"), raw)
	}
	return string(raw), response.Header
}

func TestEveryReportSaysWhichParameterIsWrong(t *testing.T) {
	t.Parallel()
	s, _ := reading(t)
	f := func(query string, status int, code string, fields ...string) {
		t.Helper()
		for _, spec := range reports.Specs() {
			path := "/admin/v1/reports/" + string(spec.Name) + "?" + query
			got := s.call("GET", path, s.live, "")
			if got.Status != status {
				t.Errorf("%s: %d, want %d", path, got.Status, status)
				continue
			}
			if status == 200 {
				continue
			}
			var named []string
			for _, d := range got.Error.Details {
				named = append(named, d.Field)
			}
			slices.Sort(named)
			if got.Error.Code != code || !slices.Equal(named, fields) {
				t.Errorf("%s: %s about %v, want %s about %v", path, got.Error.Code, named, code, fields)
			}
		}
	}
	const days = "start_date=2026-03-01&end_date=2026-03-31"
	f("", 400, "validation_error", "end_date", "start_date")
	f("start_date=2026-02-30&end_date=x", 400, "invalid_date", "end_date", "start_date")
	f("start_date=2026-03-02&end_date=2026-03-01", 400, "invalid_date", "end_date")
	f("start_date=2025-03-01&end_date=2026-03-02", 400, "validation_error", "end_date")
	f("start_date=2025-03-01&end_date=2026-03-01", 200, "")
	f(days+"&by=hour&compare=last&currency=XYZ&model=best&format=xml&limit=0&cursor=!", 400, "validation_error",
		"by", "compare", "currency", "cursor", "format", "limit", "model")
	f(days+"&by=", 400, "validation_error", "by")
	f(days+"&limit=10001", 400, "validation_error", "limit")
	f(days+"&by=week&compare=previous&currency=USD&format=json&limit=1", 200, "")
	f(days+"&by=total&compare=year", 200, "")
}

func TestReportsNeedTheirScopeAndAreTheCompanysOwn(t *testing.T) {
	t.Parallel()
	s, fixture := reading(t)
	fixture.Put(reporttest.Order{CompanyID: fixture.Store.Sandbox.CompanyID, ID: "1", TotalMinor: 100})
	other := s.key(fixture.Store.Live.CompanyID, account.ReadInfluencers, account.ReadCosts, account.WriteOrders)
	for _, path := range []string{"/reports/costs?start_date=2026-03-01&end_date=2026-03-01", "/orders", "/order/1", "/products"} {
		s.want(s.call("GET", "/admin/v1"+path, other, ""), 403, "insufficient_scope")
	}
	s.want(s.call("GET", "/admin/v1/order/1", s.live, ""), 404, "not_found")
	s.want(s.call("GET", "/sandbox/admin/v1/order/1", s.test, ""), 200, "")
	var orders []any
	if s.get("/orders", &orders); len(orders) != 0 {
		t.Errorf("orders of another company: %v", orders)
	}
}

func TestCostsAreReportedByPeriod(t *testing.T) {
	t.Parallel()
	s, _ := reading(t)
	writer := s.key(s.store.Live.CompanyID, account.WriteCosts)
	for _, body := range []string{
		`{"name": "Aluguel", "category": "rent", "value": 3100.00, "frequency": "monthly", "start_date": "2026-03-01"}`,
		`{"name": "=1+1", "value": 0.10, "frequency": "specific", "start_date": "2026-03-02"}`,
	} {
		s.want(s.call("POST", "/admin/v1/costs", writer, body), 200, "")
	}
	var report struct {
		By, Currency string
		AsOf         string `json:"as_of"`
		Rows         []struct {
			Period, Kind string
			Name         string
			Influencer   *string
			Amount       json.Number
		}
		Totals     struct{ Amount json.Number }
		Comparison struct {
			StartDate string `json:"start_date"`
			EndDate   string `json:"end_date"`
			Totals    struct{ Amount json.Number }
		}
	}
	got := s.get("/reports/costs?start_date=2026-03-01&end_date=2026-03-02&compare=previous", &report)
	if len(report.Rows) != 3 || report.Rows[0].Period != "2026-03-01" || report.Rows[0].Amount != "100" ||
		report.Rows[0].Kind != "additional" || report.Rows[0].Influencer != nil ||
		report.Rows[2].Amount != "0.1" || report.Totals.Amount != "200.1" || report.By != "day" || report.Currency != "BRL" || report.AsOf == "" {
		t.Errorf("%s", got.Data)
	}
	if c := report.Comparison; c.StartDate != "2026-02-27" || c.EndDate != "2026-02-28" || c.Totals.Amount != "0" {
		t.Errorf("comparison %+v", c)
	}
	s.want(s.call("GET", "/admin/v1/reports/costs?start_date=2026-03-01&end_date=2026-03-02&compare=previous", s.live, "", "If-None-Match",
		got.Header.Get("ETag")), 304, "")
	// Page by page.
	const two = "/reports/costs?start_date=2026-03-01&end_date=2026-03-02&limit=2"
	got = s.get(two, &report)
	if !got.Pagination.HasMore || len(report.Rows) != 2 || report.Totals.Amount != "200.1" {
		t.Fatalf("%s %+v", got.Data, got.Pagination)
	}
	got = s.get(two+"&cursor="+url.QueryEscape(*got.Pagination.NextCursor), &report)
	if got.Pagination.HasMore || len(report.Rows) != 1 || report.Rows[0].Name != "=1+1" {
		t.Errorf("%s %+v", got.Data, got.Pagination)
	}
	// As CSV, without formulas.
	text, header := s.table(two + "&format=csv")
	if at, err := time.Parse(time.RFC3339, header.Get("As-Of")); err != nil || time.Since(at) > time.Minute {
		t.Errorf("as of %q", header.Get("As-Of"))
	}
	want := "period,kind,influencer_id,influencer,campaign_id,category,name,amount\r\n" +
		"2026-03-01,additional,,,,rent,Aluguel,100\r\n2026-03-02,additional,,,,rent,Aluguel,100\r\n"
	if text != want || header.Get("Next-Cursor") == "" || header.Get("X-Request-Id") == "" {
		t.Errorf("%q %v", text, header)
	}
	text, header = s.table(two + "&format=csv&cursor=" + header.Get("Next-Cursor"))
	if !strings.HasSuffix(text, "2026-03-02,additional,,,,,'=1+1,0.1\r\n") || header.Get("Next-Cursor") != "" {
		t.Errorf("%q %v", text, header)
	}
	if text, _ = s.table(two + "&format=csv&compare=previous&by=total"); !strings.HasPrefix(text, "range,period,") ||
		!strings.Contains(text, "\r\nasked,2026-03-01,") {
		t.Errorf("%q", text)
	}
}
