package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/ledger"
	"github.com/tributary-io/tributary/internal/postgres/replay"
	"github.com/tributary-io/tributary/internal/upkeep/books"
)

// verification is what verify finds, as JSON; each check also prints to out, for people.
type verification struct {
	out io.Writer

	Equal        bool                      `json:"equal"`
	Problems     []string                  `json:"problems"` // a sentence for each check that found something
	LiveHash     string                    `json:"live_hash"`
	ReplayedHash string                    `json:"replayed_hash"`
	Orders       int                       `json:"orders"`
	Different    int                       `json:"different"`   // of the orders
	Differences  []ledger.Difference       `json:"differences"` // the first of them
	Statements   int                       `json:"closed_statements"`
	Altered      []replay.AlteredStatement `json:"altered_statements"` // the first of them
	Sums         []replay.DifferentSums    `json:"different_sums"`
	Books        []books.Imbalance         `json:"imbalances"` // the first of them
}

// verificationExample is in verify's help.
var verificationExample = verification{
	Problems: []string{"1 of 1200 orders differ; …"}, LiveHash: "…", ReplayedHash: "…", Orders: 1200, Different: 1,
	Differences: []ledger.Difference{{CompanyID: "c_…", OrderID: "1001", Live: []ledger.Net{}, Replayed: []ledger.Net{{
		Kind: "credit | ledger | payout", Of: "linear", Touch: "0", InfluencerID: "i_…", AmountMinor: "1990", Currency: "BRL"}}}},
	Statements: 12, Altered: []replay.AlteredStatement{{CompanyID: "c_…", StatementID: "…"}},
	Sums: []replay.DifferentSums{{CompanyID: "c_…", Table: "…", Rows: 3}},
	Books: []books.Imbalance{{CompanyID: "c_…", Day: "2026-01-31", Currency: "BRL", Model: "linear",
		Credited: decimal.NewFromInt(1001), Approved: decimal.NewFromInt(1000)}},
}

func newVerification(out io.Writer, found *ledger.Comparison) *verification {
	return &verification{out: out, Problems: []string{}, LiveHash: found.LiveHash, ReplayedHash: found.ReplayedHash, Orders: found.Orders,
		Different: found.Different, Differences: []ledger.Difference{}, Altered: []replay.AlteredStatement{},
		Sums: []replay.DifferentSums{}, Books: []books.Imbalance{}}
}

// problem is an error with all that was found, or nil.
func (v *verification) problem() error {
	var list []error
	for _, text := range v.Problems {
		list = append(list, errors.New(text))
	}
	return errors.Join(list...)
}

func (v *verification) found(format string, args ...any) {
	v.Problems = append(v.Problems, fmt.Sprintf(format, args...))
}

// mostAmounts bounds the amounts shown of one side of an order that differs.
const mostAmounts = 10

// compared tells both hashes and the orders that differ.
func (v *verification) compared(found *ledger.Comparison) {
	fmt.Fprintf(v.out, "live      %s\nreplayed  %s\n", found.LiveHash, found.ReplayedHash)
	if found.Equal() {
		fmt.Fprintf(v.out, "Equal: %d orders.\n", found.Orders)
		return
	}
	for _, d := range found.Differences {
		fmt.Fprintf(v.out, "company %s, order %s\n", d.CompanyID, printable(d.OrderID))
		v.showAmounts("live", d.Live)
		v.showAmounts("replayed", d.Replayed)
		d.Live, d.Replayed = append([]ledger.Net{}, d.Live...), append([]ledger.Net{}, d.Replayed...) // never null
		v.Differences = append(v.Differences, d)
	}
	if n := found.Different - len(found.Differences); n > 0 {
		fmt.Fprintf(v.out, "… and %d more\n", n)
	}
	v.found("%d of %d orders differ; where a rule was changed just before, run it again", found.Different, found.Orders)
}

func (v *verification) showAmounts(side string, nets []ledger.Net) {
	for i, n := range nets {
		if i == mostAmounts {
			fmt.Fprintf(v.out, "  %-8s  … and %d more\n", side, len(nets)-i)
			return
		}
		fmt.Fprintf(v.out, "  %-8s  %s\n", side, printable(strings.Join(strings.Fields(strings.Join([]string{
			string(n.Kind), n.Of, n.Touch, n.InfluencerID, n.AmountMinor, n.Currency}, " ")), " ")))
	}
}

// checkStatements tells whether the closed statements have the entries with which they
// were closed. Where some have not it names most of them. The error says that it could not look.
func (v *verification) checkStatements(ctx context.Context, live *replay.Snapshot, most int) error {
	statements, altered, err := live.AlteredStatements(ctx, max(most, 1))
	if err != nil {
		return err
	}
	v.Statements = statements
	if len(altered) == 0 {
		fmt.Fprintf(v.out, "Closed statements: %d, all as they were closed.\n", statements)
		return nil
	}
	for _, a := range altered[:min(most, len(altered))] {
		fmt.Fprintf(v.out, "company %s, statement %s\n", a.CompanyID, a.StatementID)
		v.Altered = append(v.Altered, a)
	}
	v.found("closed statements have not the entries with which they were closed")
	return nil
}

// checkSums sums what reports read again from all outcomes, and tells the tables that
// differ. The error says that it could not look.
func (v *verification) checkSums(ctx context.Context, live *replay.Snapshot) error {
	wrong, err := live.CheckSums(ctx)
	if err != nil {
		return err
	}
	if len(wrong) == 0 {
		fmt.Fprintln(v.out, "Equal: the sums of the reports.")
		return nil
	}
	var rows int64
	for _, d := range wrong {
		rows += d.Rows
		fmt.Fprintf(v.out, "company %s: %d rows of %s are not the sum of its orders\n", d.CompanyID, d.Rows, d.Table)
		v.Sums = append(v.Sums, d)
	}
	v.found("%d rows of the sums that reports read differ from the orders", rows)
	return nil
}

// checkBooks tells where the credits of a day, currency and model are not what its
// approved orders come to. The error says that it could not look.
func (v *verification) checkBooks(ctx context.Context, live *replay.Snapshot, most int) error {
	most = max(most, 1)
	wrong, err := live.Imbalances(ctx, most)
	if err != nil {
		return err
	}
	if len(wrong) == 0 {
		fmt.Fprintln(v.out, "Equal: the credits of each day, currency and model, and its approved orders.")
		return nil
	}
	for _, i := range wrong[:min(most, len(wrong))] {
		fmt.Fprintln(v.out, printable(i.String()))
		v.Books = append(v.Books, i)
	}
	if len(wrong) > most {
		fmt.Fprintln(v.out, "… and more")
	}
	v.found("credits are not what the approved orders come to")
	return nil
}
