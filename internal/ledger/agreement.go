package ledger

import (
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
)

// Agreement is a fixed amount that was agreed with an influencer. Its Since is the day from which it is owed.
type Agreement struct {
	commerce.AdditionalCost
	InfluencerID string
	CampaignID   string // empty: of no campaign
}

// Account is the agreement's account in the ledger.
func (a *Agreement) Account() string { return commerce.AccountOf(commerce.OfAgreement, a.ID) }

// Lines returns what an agreement owes by the end of a closed day, YYYY-MM-DD: a line for each day, week from its start,
// month or single day that has ended by then, payable on its last day. A part of a week or of a month counts by its days
// (commerce.AdditionalCost.Each), so a whole one is the amount to the cent.
func Lines(a Agreement, closed string) (lines []facts.Line) {
	first, noFirst := time.Parse(time.DateOnly, a.Since)
	last, noLast := time.Parse(time.DateOnly, closed)
	if noFirst != nil || noLast != nil {
		return nil
	}
	var sum int64
	a.Each(first, last, func(day time.Time, minor int64) {
		if sum += minor; sum == 0 || !a.endsOn(day) {
			return
		}
		lines = append(lines, facts.Line{InfluencerID: a.InfluencerID, CampaignID: a.CampaignID, CostID: a.ID, AmountMinor: sum,
			Currency: commerce.BRL, PayableOn: day.Format(time.DateOnly)})
		sum = 0
	})
	return lines
}

// endsOn reports whether a day on which the agreement is in force is the last one of a line.
func (a *Agreement) endsOn(day time.Time) bool {
	next := day.AddDate(0, 0, 1)
	if text := next.Format(time.DateOnly); text == a.Until || a.EndDate != "" && text > a.EndDate {
		return true
	}
	switch a.Frequency {
	case commerce.Weekly:
		start, err := time.Parse(time.DateOnly, a.StartDate)
		return err == nil && next.Sub(start)%(7*24*time.Hour) == 0
	case commerce.Monthly:
		return next.Day() == 1
	}
	return true
}
