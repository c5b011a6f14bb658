package money

import (
	"encoding/json"
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
func (s *Pages) decided(r *http.Request, v site.Request, page *orderPage, x facts.Explanation, last account.AuditEntry,
	zone *time.Location) {
	page.Dispute = v.Path(disputePath, "id", page.ID)
	var actors []string
	for _, d := range x.Decisions {
		actors = append(actors, d.By, d.ConfirmedBy)
	}
	// Without the names the decisions are told all the same.
	names, _ := s.db.ActorNames(r.Context(), v.Current.CompanyID, actors)
	name := func(actor string) string {
		return site.ActorWords(v.Lang, account.AuditEntry{Actor: actor, Name: names[actor]})
	}
	for _, d := range x.Decisions {
		when := d.At
		if at, err := time.Parse(time.RFC3339, d.At); err == nil {
			when = v.Lang.Time(at.In(zone))
		}
		what := v.Lang.T("dispute.was_"+d.Decision, d.Influencer)
		if d.Reason != "" {
			what += " (" + d.Reason + ")"
		}
		if d.ConfirmedBy == "" {
			page.Decided = append(page.Decided, v.Lang.T("dispute.decided_by", name(d.By), when, what))
		} else {
			page.Decided = append(page.Decided, v.Lang.T("dispute.confirmed_by", name(d.By), when, what, name(d.ConfirmedBy)))
		}
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

// refusedWords says that the last change was that somebody refused a proposal, and why; empty: it was another one.
func refusedWords(v site.Request, last account.AuditEntry, zone *time.Location) string {
	var detail struct{ Reason string }
	if !strings.HasSuffix(last.Action, ".refuse_proposal") || json.Unmarshal([]byte(last.Detail), &detail) != nil {
		return ""
	}
	return v.Lang.T("proposal.refused", site.ActorWords(v.Lang, last), v.Lang.Time(last.At.In(zone)), detail.Reason)
}

func denied(x facts.Explanation, influencerID string) bool {
	return slices.ContainsFunc(x.Decisions, func(d facts.ExplainedDecision) bool {
		return d.InfluencerID == influencerID && d.Decision == commerce.DisputeDeny
	})
}
