package merchant_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
)

// importRows is all that a list left of a store, without ids, codes and instants.
const importRows = `
	select format('influencer %s %s %s', name, category, rev) from influencer where company_id = $1
	union all select format('campaign %s %s', name, rev) from campaign where company_id = $1
	union all select format('link %s %s', url, rev) from link where company_id = $1
	union all select format('code %s', count(*)) from short_code where company_id = $1
	union all select format('coupon %s %s %s', code, period, rev) from coupon where company_id = $1
	union all select format('cost %s %s %s %s %s %s', fixed_fee_minor, var_fee, value_minor, owed_from, until is null, rev)
		from cost where company_id = $1
	union all select format('details %s %s %s %s %s', email, phone, pix_key, handles, pix_confirmed_at is not null)
		from influencer_personal where company_id = $1
	union all select format('identity %s %s %s %s %s %s', kind, key, shared, others, until is null, rev) from influencer_identity
		where company_id = $1
	union all select format('audit %s %s', action, detail - 'campaign_id') from audit_log where company_id = $1 and action like 'influencer.%'
	union all select format('outbox %s %s %s %s', topic, convert_from(value, 'UTF8')::jsonb ->> 'kind',
		convert_from(value, 'UTF8')::jsonb -> 'body' ->> 'type', convert_from(value, 'UTF8')::jsonb ->> 'rev')
		from outbox where topic = 'commerce.v1' and key = $1 or value is not null and convert_from(value, 'UTF8')::jsonb ->> 'companyId' = $1
	union all select format('rev %s', rules_rev) from company where company_id = $1
	order by 1`

// What a list registers is what its influencers would be if each was registered alone: an import sends the statements of a new
// influencer together.
func TestAnImportRegistersAsOneByOne(t *testing.T) {
	t.Parallel()
	db, store, dsn := newStore(t)
	raw, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close(context.WithoutCancel(t.Context()))
	list := []commerce.Registration{}
	for i, name := range []string{"Ana", "Bia", "Caio", "ANA", "Duda", "Eva"} {
		r := commerce.Registration{Name: name, Category: "moda", Campaign: "Verão",
			Links:   []string{fmt.Sprintf("https://loja.example.com/%d", i)},
			Coupons: []commerce.CouponTerms{{Code: "CODE" + name, StartDate: "2026-01-01"}},
			Costs: []commerce.CostTerms{{VarFee: decimal.NewFromInt(10), StartDate: "2026-01-01"},
				{ValueMinor: 50000, Frequency: commerce.Monthly, StartDate: "2026-01-01"}}}
		switch name {
		case "Ana", "Bia": // a key of two
			r.Details = commerce.DetailsChange{Email: wire.Some("agency@example.com"),
				Pix:  wire.Some(commerce.Pix{Type: "email", Key: "a@example.com"}),
				Keys: []commerce.IdentityKey{{Field: commerce.DetailEmail, Kind: 1, Key: []byte("agency")}}}
		case "Caio":
			r.Links, r.Costs = nil, r.Costs[:1]
		case "ANA": // what she has already would be left out
			r.Coupons[0].Code, r.Category, r.Costs = "OTHER", "", nil
		case "Duda": // her coupon is Bia's
			r.Coupons[0].Code = "codebia"
		}
		list = append(list, r)
	}
	rows := map[string][]string{}
	for _, company := range []string{store.Live.CompanyID, store.Sandbox.CompanyID} {
		author := commerce.Author{CompanyID: company, Actor: "cli"}
		if company == store.Live.CompanyID {
			became, err := db.RegisterAll(t.Context(), author, list, func([]commerce.Imported) bool { return true }, rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range became {
				if refused := line.Refused != nil; refused != (i == 4) {
					t.Errorf("%s: %v", list[i].Name, line.Refused)
				}
			}
		} else {
			for i, r := range list {
				if _, err := db.RegisterInfluencer(t.Context(), author, r, rand.Reader); (err != nil) != (i == 4) {
					t.Errorf("%s: %v", r.Name, err)
				}
			}
		}
		if rows[company], err = postgres.Collect(t.Context(), raw, pgx.RowTo[string], importRows, company); err != nil {
			t.Fatal(err)
		}
	}
	// Again, nothing is new; of one line more, that alone is stored.
	for _, phone := range []string{"", "+5511988887766"} {
		if phone != "" {
			list[2].Details.Phone = wire.Some(phone)
		}
		became, err := db.RegisterAll(t.Context(), commerce.Author{CompanyID: store.Live.CompanyID, Actor: "cli"}, list,
			func([]commerce.Imported) bool { return true }, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range became {
			if i != 4 && line.Unchanged != (i != 2 || phone == "") || (line.Refused != nil) != (i == 4) {
				t.Errorf("again, %s: %+v", list[i].Name, line)
			}
		}
		again, err := postgres.Collect(t.Context(), raw, pgx.RowTo[string], importRows, store.Live.CompanyID)
		if more := slices.DeleteFunc(again, func(row string) bool { return slices.Contains(rows[store.Live.CompanyID], row) }); err != nil ||
			(len(more) == 0) != (phone == "") {
			t.Errorf("again: %q, %v", more, err)
		}
	}
	live, alone := rows[store.Live.CompanyID], rows[store.Sandbox.CompanyID]
	if !slices.Equal(live, alone) || len(live) < 50 {
		t.Errorf("%d rows of an import:\n%q\nwant %d:\n%q", len(live), live, len(alone), alone)
	}
}
