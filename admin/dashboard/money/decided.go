package money

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
)

// decided tells what was decided about the order, by whom and why, and what can be decided.
func (s *Pages) decided(r *http.Request, v site.Request, page *orderPage, x facts.Explanation, zone *time.Location) {
	page.Dispute = site.StorePath(disputePath, v.Current.CompanyID, "id", page.ID)
	var last account.AuditEntry
	if done := strings.HasPrefix(r.URL.Query().Get("done"), "decided_"); done || len(x.Decisions) > 0 {
		// Without the name, the decision is told all the same.
		last, _ = s.LastChange(r.Context(), v.Current.CompanyID, page.ID)
	}
	for _, d := range x.Decisions {
		who := account.AuditEntry{Actor: d.By}
		if last.Actor == d.By {
			who.Name = last.Name
		}
		when := d.At
		if at, err := time.Parse(time.RFC3339, d.At); err == nil {
			when = v.Lang.Time(at.In(zone))
		}
		what := v.Lang.T("dispute.was_"+d.Decision, d.Influencer)
		if d.Reason != "" {
			what += " (" + d.Reason + ")"
		}
		page.Decided = append(page.Decided, v.Lang.T("dispute.decided_by", site.ActorWords(v.Lang, who), when, what))
	}
	// The last decision may be on its way to the processor.
	page.Changing = page.Changing || strings.HasSuffix(last.Action, ".assign") && !slices.ContainsFunc(x.Decisions,
		func(d facts.ExplainedDecision) bool {
			at, err := time.Parse(time.RFC3339, d.At)
			return err == nil && !at.Before(last.At.Truncate(time.Millisecond))
		})
	for _, t := range x.Touches {
		of := whose{t.InfluencerID, t.Influencer}
		if (t.Proof == facts.ProofAccepted || t.Proof == facts.ProofRefused) && !slices.Contains(page.Withdraw, of) &&
			!denied(x, t.InfluencerID) {
			page.Withdraw = append(page.Withdraw, of)
		}
	}
	for _, d := range x.Decisions {
		of := whose{d.InfluencerID, d.Influencer}
		if slices.Contains(commerce.EvidenceDecisions, d.Decision) && !slices.Contains(page.Withdraw, of) && !denied(x, d.InfluencerID) {
			page.Withdraw = append(page.Withdraw, of)
		}
	}
}

func denied(x facts.Explanation, influencerID string) bool {
	return slices.ContainsFunc(x.Decisions, func(d facts.ExplainedDecision) bool {
		return d.InfluencerID == influencerID && d.Decision == commerce.DisputeDeny
	})
}
