package postgres_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/caseload"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/fraud"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/report"
	"github.com/tributary-io/tributary/internal/reports"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
	"github.com/tributary-io/tributary/test/statements"
)

func reportStatements(t *testing.T, recorder *statements.Recorder) {
	fix := reporttest.New(t, postgres.WithTracer(recorder))
	db, ctx, company := fix.DB, t.Context(), fix.Store.Live.CompanyID
	must := mustOf(t)
	const day = "2026-11-21"
	_, err := db.DaySales(ctx, company, day, commerce.Cursor{}, 10)
	must(err)
	_, err = db.SalesSince(ctx, company, day, commerce.Cursor{}, 10)
	must(err)
	_, err = db.DaySalesOf(ctx, company, day, []string{"1"})
	must(err)
	fix.Put(reporttest.Order{CompanyID: company, ID: "1", Explanation: map[string]any{}})
	_, err = db.FindOrders(ctx, company, commerce.OrderSearch{Text: "1", Limit: 10})
	must(err)
	_, err = db.SalesOf(ctx, company, []string{"1"})
	must(err)
	must(db.Sold(ctx, company, "1", func(caseload.View, facts.Sold) error { return nil }))
	_, err = db.Reviews(ctx, company, commerce.Cursor{}, 10)
	must(err)
	_, err = db.FindInfluencers(ctx, company,
		commerce.InfluencerSearch{Sort: commerce.SortBySales, From: day, Today: day, Currency: "BRL", Limit: 10})
	must(err)
	_, err = db.LinkClicks(ctx, company, []string{"code"}, day, day)
	must(err)
	_, err = db.StoredEvents(ctx, company, []string{"01938a4e-6f5a-7c11-a6c1-0d3cf5a0a5b2"})
	must(err)
	_, err = db.ErasedUntil(ctx, company, [][]byte{{1}})
	must(err)
	_, err = db.Signals(ctx, company)
	must(err)
	person := []facts.Key{{Kind: facts.KeyEmail, Value: "k1:e"}}
	fix.Came(wire.Event{CompanyID: company, EventID: uuid.Must(uuid.NewV7()).String(), Event: "PAGE_VIEW", ReceivedAt: noon, Timestamp: noon,
		VisitorID: "0199f3a0-0000-7000-8000-00000000000a", Identity: wire.Identity{EmailKey: "k1:e"}, Bot: wire.BotNone})
	fix.Key(company, "1", person[0], noon)
	must(db.WritePerson(ctx, commerce.PersonFile{CompanyID: company, At: noon}, person, io.Discard))
	for _, kind := range commerce.ExportKinds {
		must(db.ExportSnapshot(ctx, company, kind, func(x *report.ExportSnapshot) error {
			_, err := x.Days(ctx)
			must(err)
			day := map[bool]string{true: report.OtherEvents, false: day}[kind == "events"]
			_, err = x.State(ctx, day)
			must(err)
			switch kind {
			case "events":
				err = x.Events(ctx, day, func(*report.ExportedEvent) error { return nil })
			case "orders":
				err = x.Orders(ctx, day, func(*report.ExportedOrder) error { return nil })
			case "credits":
				err = x.Credits(ctx, day, func(*report.ExportedCredit) error { return nil })
			case "ledger":
				err = x.Ledger(ctx, day, func(*report.ExportedEntry) error { return nil })
			default:
				err = x.Statements(ctx, day, func(*report.ExportedStatement) error { return nil })
			}
			return err
		}))
	}
	_, err = db.RefusedOrigins(ctx, company, noon)
	must(err)
	_, err = db.HasOrders(ctx, company)
	must(err)
	standby, err := report.OpenStandby(ctx, fix.DSN, db.Reader, slog.New(slog.DiscardHandler), postgres.WithTracer(recorder))
	must(err)
	t.Cleanup(standby.Close)
	if _, err := standby.Look(ctx); err == nil { // it is the primary
		t.Error("a primary is taken for a standby")
	}
	_, err = db.UnknownCodes(ctx, reports.Query{CompanyID: company, Start: day, End: day, Currency: "BRL"}, 10)
	must(err)
	_, _, err = db.OrdersBelow(ctx, reports.Query{CompanyID: company, Start: day, End: day, Currency: "BRL"}, 100)
	must(err)
	_, err = db.CommissionsAbove(ctx, reports.Query{CompanyID: company, Start: day, End: day}, "019cd7a4-2e00-7000-8000-000000000002")
	must(err)
	_, err = db.Balances(ctx, company, day, commerce.BalanceCursor{}, 10)
	must(err)
	_, err = db.ExplainedSale(ctx, company, "1")
	must(err)
	_, err = db.Order(ctx, company, "1")
	must(err)
	pending := commerce.OrderPending
	for _, f := range []commerce.OrderFilter{{}, {Uncredited: true}, {Status: &pending}, {Coupon: "ANA10"}, {Text: "1001"},
		{InfluencerID: "019cd7a4-2e00-7000-8000-000000000002"},
		{UpdatedSince: time.Now()}} {
		f.Limit = 1
		_, err = db.Orders(ctx, company, f)
		must(err)
		if f.UpdatedSince.IsZero() {
			_, err = db.OrderTotals(ctx, company, f)
			must(err)
			f.Before = commerce.Cursor{At: time.Now(), OrderID: "1"}
			_, err = db.Orders(ctx, company, f)
			must(err)
		}
	}
	_, err = db.ProductNames(ctx, company, []string{"p"})
	must(err)
	_, err = db.Products(ctx, company, commerce.ProductCursor{}, 10)
	must(err)
	for _, spec := range reports.Specs() {
		for _, model := range append([]string{""}, spec.Models...) {
			_, err = db.Report(ctx, reports.Query{CompanyID: company, Name: spec.Name, Start: day, End: day, Model: model})
			must(err)
			_, err = db.Report(ctx,
				reports.Query{CompanyID: company, Name: spec.Name, Start: "2026-09-01", End: "2026-10-31", By: reports.ByTotal, Model: model})
			must(err)
			_, err = db.Report(ctx,
				reports.Query{CompanyID: company, Name: spec.Name, Start: "2026-09-15", End: "2026-11-30", By: reports.ByMonth, Model: model})
			must(err)
			_, err = db.Report(ctx, reports.Query{CompanyID: company, Name: spec.Name, Start: day, End: day, By: reports.ByWeek, Model: model})
			must(err)
		}
	}
	signStatements(t, fix, day)
	_, err = db.Statements(ctx, company, commerce.StatementFilter{}, commerce.StatementCursor{}, 10)
	must(err)
	_, err = db.StatementTotals(ctx, company, commerce.StatementFilter{Name: "ana"})
	must(err)
	const id = "019cd7a4-2e00-7000-8000-000000000001"
	_, err = db.Statement(ctx, company, id)
	must(err, commerce.ErrNotFound)
	_, err = db.LinkedStatement(ctx, company, id, id, 0)
	must(err, commerce.ErrNotFound)
	_, err = db.StatementLines(ctx, company, id, "", 10)
	must(err)
	_, err = db.Parties(ctx, company, []string{id})
	must(err)
	for _, of := range commerce.LedgerSubjects {
		_, err = db.Ledger(ctx, company, noon, commerce.LedgerFilter{Of: of}, commerce.LedgerCursor{}, 10)
		must(err)
	}
}

// mustOf gives a check that ends the test at an error that is none of want.
func mustOf(t *testing.T) func(err error, want ...error) {
	return func(err error, want ...error) {
		t.Helper()
		if len(want) == 0 && err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !errors.Is(err, w) {
				t.Fatalf("%v, want %v", err, w)
			}
		}
	}
}

// signStatements puts an order by an influencer's visit of which only an e-mail leads to
// the visitor: for its sign the event and the visitor's page views are read.
func signStatements(t *testing.T, fix *reporttest.Fixture, day string) {
	company, created := fix.Store.Live.CompanyID, time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	const eventID = "01938a4e-6f5a-7c11-a6c1-0d3cf5a0a5b3"
	ana := fix.Influencer(company, "Ana Prado")
	fix.Came(wire.Event{CompanyID: company, EventID: eventID, Event: "PAGE_VIEW", Timestamp: created, ReceivedAt: created, VisitorID: "v"})
	fix.Put(reporttest.Order{CompanyID: company, ID: "2", CreatedAt: created, TotalMinor: 100, InfluencerID: ana,
		Evidence:    commerce.EvidenceLink,
		Explanation: facts.Explanation{Touches: []facts.ExplainedTouch{{ID: eventID, InfluencerID: ana, MatchedBy: string(facts.KeyEmail)}}}})
	checkout := facts.FirstID(created)
	checkout[6], checkout[8] = 0x70, 0x80
	fix.Came(wire.Event{CompanyID: company, EventID: checkout.String(), Event: "CHECKOUT_COMPLETED", Timestamp: created,
		ReceivedAt: created, VisitorID: "v"})
	for range 2 { // made, and kept
		report, err := fix.DB.Signs(t.Context(), company, day, day)
		if err != nil || report.Orders == 0 {
			t.Fatalf("%+v, %v", report, err)
		}
	}
	hurried, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	if _, err := fix.DB.Signs(hurried, company, day, "2026-11-30"); !errors.Is(err, fraud.ErrBeingMade) {
		t.Fatal(err)
	}
	if err := fix.DB.RenewSigns(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	fix.SignsDue(company)
	if err := fix.DB.AddEndpoint(t.Context(), commerce.Author{CompanyID: company, Actor: "cli", At: time.Now()},
		commerce.Endpoint{ID: "whe_1", Types: commerce.EventTypes}, commerce.SealedSecret{}); err != nil {
		t.Fatal(err)
	}
	if err := fix.DB.RenewSigns(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
}
