package merchant

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/fold"
	"github.com/tributary-io/tributary/internal/postgres"
)

// savepoints runs each transaction as a part of one.
type savepoints struct{ tx pgx.Tx }

func (s savepoints) InTx(ctx context.Context, f func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, s.tx, f)
}

// errUndone ends a transaction whose changes are not wanted.
var errUndone = errors.New("undone")

// errUnchanged says that all that a registration says was known.
var errUnchanged = errors.New("unchanged")

// RegisterAll registers each of a list as RegisterInfluencer does, but for what is known of an influencer already, in one
// transaction. It says what became of each. All is rolled back where keep returns false of it.
func (s *Store) RegisterAll(ctx context.Context, author commerce.Author, list []commerce.Registration,
	keep func([]commerce.Imported) bool, random io.Reader) ([]commerce.Imported, error) {
	became := make([]commerce.Imported, len(list))
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := lockCompany(ctx, tx, author.CompanyID); err != nil {
			return err
		}
		inner := postgres.WithTransactor(ctx, savepoints{tx})
		for i, r := range list {
			reg := registering{Registration: r, random: random, newOnly: true}
			switch err := s.register(inner, author, &reg); {
			case errors.Is(err, errUnchanged):
				became[i] = commerce.Imported{Unchanged: true, Unpaid: reg.unpaid}
			case err == nil || errors.Is(err, commerce.ErrConflict):
				became[i] = commerce.Imported{Refused: err, Unpaid: err == nil && reg.unpaid}
			default:
				return err
			}
		}
		if !keep(became) {
			return errUndone
		}
		return nil
	})
	if err != nil && !errors.Is(err, errUndone) {
		return nil, fmt.Errorf("postgres: register influencers: %w", err)
	}
	return became, nil
}

// dropKnown takes out of a registration what its influencer, who is known, has already: the category, the same links of the
// campaign, coupons of the same days, and agreements (hasCost).
func (reg *registering) dropKnown(ctx context.Context) error {
	list, err := influencersOf(ctx, reg.tx, reg.change.CompanyID, []string{reg.influencerID})
	if err != nil || len(list) == 0 {
		return err
	}
	known := list[0]
	if reg.Category == known.Category {
		reg.Category = ""
	}
	campaign := reg.CampaignID
	for _, c := range known.Campaigns {
		if campaign == "" && fold.Name(c.Name) == fold.Name(reg.Campaign) {
			campaign = c.CampaignID
		}
	}
	// The lists are the caller's: they are copied.
	reg.Links = slices.DeleteFunc(slices.Clone(reg.Links), func(url string) bool {
		return slices.ContainsFunc(known.Links, func(l commerce.Link) bool { return l.CampaignID == campaign && l.URL == url })
	})
	reg.Coupons = slices.DeleteFunc(slices.Clone(reg.Coupons), func(asked commerce.CouponTerms) bool {
		return slices.ContainsFunc(known.Coupons, func(c commerce.Coupon) bool {
			return fold.Code(c.Code) == fold.Code(asked.Code) && c.StartDate == asked.StartDate && c.EndDate == asked.EndDate
		})
	})
	reg.Costs = slices.DeleteFunc(slices.Clone(reg.Costs), func(asked commerce.CostTerms) bool {
		return slices.ContainsFunc(known.Costs, func(c commerce.Cost) bool { return hasCost(c, asked, campaign) })
	})
	reg.unpaid = len(known.Costs)+len(reg.Costs) == 0
	return nil
}

// hasCost reports whether an agreement is in force as one is asked for, from its first day or an earlier one: a file without
// first days says today, and agreements with different first days add up. What is owed once is as of its day.
func hasCost(known commerce.Cost, asked commerce.CostTerms, campaign string) bool {
	begins := known.StartDate == asked.StartDate || asked.Frequency != commerce.Specific && known.StartDate < asked.StartDate
	return begins && known.EndDate == asked.EndDate && known.CampaignCost == asked.CampaignCost &&
		(!asked.CampaignCost || known.CampaignID == campaign) && known.CouponCost == asked.CouponCost &&
		known.FixedFeeMinor == asked.FixedFeeMinor && known.VarFee.Equal(asked.VarFee) && known.ValueMinor == asked.ValueMinor &&
		known.Frequency == asked.Frequency && (asked.OwedFrom == "" || known.OwedFrom == asked.OwedFrom)
}
