package dashboard_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/admin/dashboard"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/report"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

// asked counts what a standby is asked.
type asked struct{ atomic.Int64 }

func (a *asked) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	a.Add(1)
	return ctx
}

func (a *asked) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// Each page that reads a standby says how new its figures are, in both languages, and these are the pages of reports alone.
func TestPagesOfReportsSayHowNewAStandbyIs(t *testing.T) { // not parallel: the server is copied with its databases
	s := newSite(t)
	ana := s.sumDay("2026-11-19")
	server, statements := devtest.StartStandby(t), &asked{}
	standby, err := report.OpenStandby(t.Context(), server.Of(s.DSN), s.DB.Reader, slog.New(slog.DiscardHandler),
		postgres.WithTracer(statements))
	if err != nil {
		t.Fatal(err)
	}
	defer standby.Close()
	pages, err := dashboard.New(dashboard.Config{TokenSecret: bytes.Repeat([]byte("s"), 32), ClientIP: s.clientIP},
		dashboard.Deps{Database: s.DB, Reports: standby, Hints: s.follow, Hasher: s.hasher, Log: slog.New(slog.NewTextHandler(s, nil))})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(pages)
	defer web.Close()
	s.url = web.URL
	client := s.loggedIn()
	read := func(path string) (page string, answer *http.Response, ofStandby bool) {
		t.Helper()
		await.Until(t, await.Long, func() bool { _, err := standby.Look(t.Context()); return err == nil }, s.logged)
		before := statements.Load()
		answer, err := client.Get(s.url + path)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		var text bytes.Buffer
		if _, err := text.ReadFrom(answer.Body); err != nil {
			t.Fatal(err)
		}
		return text.String(), answer, statements.Load() > before
	}
	var of []string
	for _, path := range append(s.pages(), "/dashboard/influencer") {
		page, answer, ofStandby := read(path + "?company=" + s.live + "&id=" + ana)
		if answer.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, answer.Status)
		}
		if ofStandby != strings.Contains(page, "Figures of reports as of ") {
			t.Errorf("%s reads the standby: %t; it says so: %t", path, ofStandby, !ofStandby)
		}
		if ofStandby {
			of = append(of, path)
		}
	}
	slices.Sort(of)
	if want := []string{"/dashboard/coupons", "/dashboard/delivery", "/dashboard/influencer", "/dashboard/overview", "/dashboard/paths",
		"/dashboard/products"}; !slices.Equal(of, want) {
		t.Errorf("the standby is read for %v, want %v", of, want)
	}
	for _, path := range []string{"/dashboard/report.csv?report=sales&company=", "/dashboard/overview.csv?table=channels&company="} {
		if _, answer, ofStandby := read(path + s.live); !ofStandby || !strings.Contains(answer.Header.Get("Content-Disposition"), "-as-of-20") {
			t.Errorf("%s is called %s", path, answer.Header.Get("Content-Disposition"))
		}
	}
	answer, err := client.PostForm(s.url+"/dashboard/language", map[string][]string{"lang": {"pt-BR"}, "next": {"/dashboard/"}})
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if page, _, _ := read("/dashboard/overview?company=" + s.live); !strings.Contains(page, "Números dos relatórios até ") {
		t.Error("the page does not say it in Portuguese")
	}
	server.Stop()
	if _, err := standby.Look(t.Context()); err == nil {
		t.Error("a standby that is away is not missed")
	}
	page := s.readAs(client, "/dashboard/overview")
	if strings.Contains(page, "as of ") || strings.Contains(page, "Números dos relatórios até") {
		t.Error("figures of the primary are called those of a copy")
	}
}
