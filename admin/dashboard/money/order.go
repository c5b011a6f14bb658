package money

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/lang"
)

// orderPage is what templates/order.html shows.
type orderPage struct {
	site.Head
	Order     site.OrderRow
	ID        string
	When      string
	Back      string
	Verdict   string // one sentence: who is paid and why
	Explained bool   // false: the order has no explanation yet
	Changing  bool   // it is being computed again
	Again     string // what the page asks for by itself until it is as it will be; empty: it is
	Clean     string // path of this page
	Keys      []keyLine
	NoKeys    string // why there are none
	Touches   []touchLine
	Losers    []string
	Items     []boughtLine
	MoreItems int // that are not shown
	Sums      []boughtSum
	BackName  string
	High      string   // a warning; empty: the commission is not above the order's value
	Future    bool     // it was created after now
	Erased    bool     // its person was erased
	Details   []string // codes, tax and refunds, as the shop sent them
	Reason    string   // why nothing is owed; empty where something is
	Base      string
	Costs     []costLine
	Total     []string // commission, a line a currency
	State     string   // what the commission is, in a word
	StateIs   string   // approved | pending | cancelled: a class
	Unproven  bool     // paid though nothing proves it
	Decide    string   // the id of the influencer about whose commission the store decides; empty: nothing waits
	Deciding  string   // what a decision does
	PayableOn string   // the day from which it may be paid; empty: nothing is owed
	TakenBack bool     // cancelled: the costs are what was owed before
	Ledger    []ledgerLine
	Net       []string
	WhatIf    []string
	Decided   []string     // what was decided in disputes: a sentence each
	Refused   string       // that a proposal was refused last, and why; empty: none was
	Proposal  *proposalRow // what waits for a second person; nil: nothing does
	Dispute   string       // path of the page that decides one
	Withdraw  []whose      // about whose links something was decided
	Models    []modelLine
}

type whose struct{ ID, Name string }

type keyLine struct {
	Name     string
	About    string
	Visitors string // how many devices it leads to, or why it is not used
	Hub      bool
}

type touchLine struct {
	When, Stamp string
	What        string
	Campaign    string
	Influencer  string
	By          string
	Proof       string
	Used        bool
	Reason      string
}

type costLine struct {
	Level, Formula string
	Amounts        []string
	Revision       int64
}

type ledgerLine struct {
	Entry              int
	When, Stamp        string
	Kind, Who          string
	Agreement, Cause   string
	Amount             string
	Negative           bool
	ReversesEntryShown int
}

type modelLine struct {
	Name  string
	About string
	Parts []modelPart
}

type modelPart struct{ Who, Share, Amount string }

func (s *Pages) order(w http.ResponseWriter, r *http.Request, v site.Request) {
	e, err := s.saleOf(r, v)
	if errors.Is(err, commerce.ErrNotFound) {
		s.ProblemOf(w, r, http.StatusNotFound, "no_order")
		return
	}
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	zone := v.Zone()
	page := orderPage{
		Head:  v.Head(v.Lang.T("order.title", site.OrderName(e.Sale)), "orders"),
		Order: site.ViewSale(v.Lang, e.Sale, v.Current.CompanyID, zone), ID: e.Sale.OrderID,
		When:   v.Lang.LongDate(e.Sale.CreatedAt.In(zone)) + e.Sale.CreatedAt.In(zone).Format(", 15:04"),
		Future: e.Sale.CreatedAt.After(s.Now()), Erased: e.Erased,
	}
	page.Back, page.BackName = cameFrom(r, v, e.Sale)
	if e.Sale.CommissionMinor > e.Sale.TotalMinor && e.Sale.TotalMinor >= 0 {
		page.High = v.Lang.T("order.high", v.Lang.Money(e.Sale.CommissionMinor, e.Sale.Currency),
			v.Lang.Money(e.Sale.TotalMinor, e.Sale.Currency))
	}
	if err := s.bought(r, v, &page, e.Sale); err != nil {
		s.Unavailable(w, r, err)
		return
	}
	if page.Versions, err = s.VersionsOf(r.Context(), v.Current.CompanyID, e.Sale.OrderID); err != nil {
		s.Unavailable(w, r, err)
		return
	}
	id := e.Sale.OrderID
	// Without the last change the order is shown all the same.
	last, _ := s.LastChange(r.Context(), v.Current.CompanyID, id)
	page.Refused = refusedWords(v, last, zone)
	page.ledger(v.Lang, e, zone)
	if e.Sale.InfluencerID != "" {
		page.Verdict = verdict(v.Lang, e.Sale, false)
	}
	var x facts.Explanation
	if len(e.Explanation) > 0 {
		if err := json.Unmarshal(e.Explanation, &x); err != nil {
			// The page still shows the order and its ledger.
			s.Log.Error("dashboard: explanation is not in its shape", "company", v.Current.CompanyID, "order", id, "error", err)
		} else {
			page.Explained, page.Changing = true, e.Recomputing
			page.explain(v.Lang, x, e.Sale, zone)
			s.decided(r, v, &page, x, last, zone)
		}
	}
	if p, err := s.proposalOf(r, v, id); err != nil {
		s.Unavailable(w, r, err)
		return
	} else if p != nil {
		row := s.proposalRow(v, p)
		page.Proposal = &row
	}
	if done := r.URL.Query().Get("done"); page.Decide != "" && slices.Contains(releasesReview, done) {
		page.Changing, page.Decide = true, "" // the decision is on its way to the processor
	}
	if page.Clean = site.OrderPath(v.Current.CompanyID, e.Sale.OrderID); !page.Explained || page.Changing {
		page.Again = v.Here
	}
	s.Render(w, r, http.StatusOK, "order.html", page)
}

// releasesReview is what a form before did after which an order leaves the review in a moment.
var releasesReview = []string{"decided_accept", "decided_refuse", "proposal_confirmed"}

// verdict says who is credited and why. unpaid: no commission is owed, whatever
// the order's status.
func verdict(l *lang.Printer, s commerce.Sale, unpaid bool) string {
	if s.InfluencerID == "" {
		return l.T("verdict.nobody")
	}
	text := l.T("verdict.coupon", s.Influencer)
	if s.DiscountCode != "" {
		text = l.T("verdict.coupon_code", s.Influencer, s.DiscountCode)
	}
	if s.Evidence == commerce.EvidenceLink {
		text = l.T("verdict.link", s.Influencer)
	}
	switch {
	case unpaid: // the page says why
	case s.Status == commerce.OrderPending:
		text += " " + l.T("verdict.pending")
	case s.Status == commerce.OrderCancelled:
		text += " " + l.T("verdict.cancelled")
	}
	return text
}

func (p *orderPage) ledger(l *lang.Printer, e commerce.ExplainedSale, zone *time.Location) {
	net := sums{}
	for _, entry := range e.Ledger {
		net.add(entry.Currency, decimal.NewFromInt(entry.AmountMinor))
		p.Ledger = append(p.Ledger, ledgerLine{
			Entry: entry.Entry, When: l.Instant(entry.At.In(zone)), Stamp: entry.At.In(zone).Format(time.RFC3339),
			Kind: site.TextOf(l, "entry."+entry.Kind, entry.Kind), Who: entry.Influencer,
			Agreement: agreement(l, entry, e.Sale.Currency), Cause: causeWords(l, entry.Cause, zone),
			Amount: l.Money(entry.AmountMinor, entry.Currency), Negative: entry.AmountMinor < 0, ReversesEntryShown: entry.Reverses,
		})
	}
	p.Net = net.lines(l, e.Sale.Currency)
}

func (p *orderPage) explain(l *lang.Printer, x facts.Explanation, sale commerce.Sale, zone *time.Location) {
	var unseen []string // what the order has, where no key led to a visitor
	for _, k := range x.Keys {
		name, about := site.KeyWords(l, string(k.Kind))
		if p.Erased {
			about = "" // it would say what is kept
		}
		line := keyLine{Name: name, About: about, Hub: k.Hub, Visitors: l.N("order.devices", int64(k.Visitors))}
		switch {
		case k.HubOf == facts.HubOfOrders:
			line.Visitors = l.T("order.hub_of_orders")
		case k.Hub:
			line.Visitors = l.T("order.hub_of_people")
		}
		if (k.Visitors > 0 || k.Hub) && !slices.Contains(p.Keys, line) { // else it says nothing
			p.Keys = append(p.Keys, line)
		}
		if !slices.Contains(unseen, name) {
			unseen = append(unseen, name)
		}
	}
	if p.NoKeys = l.T("order.no_keys"); len(unseen) > 0 {
		p.NoKeys = l.T("order.unseen_keys", site.JoinAnd(l, unseen))
	}
	for _, t := range x.Touches {
		p.Touches = append(p.Touches, viewTouch(l, t, zone))
	}
	for _, loser := range x.Payout.Losers {
		p.Losers = append(p.Losers, l.T("order.loser_"+string(loser.Evidence), loser.Influencer, reasonWords(l, loser.Reason)))
	}
	for _, c := range x.Order.Codes {
		if c.Decides { // of several it is the one
			sale.DiscountCode = c.Code
		}
	}
	p.Details = append(typedCode(l, x, sale), orderDetails(l, x, sale.Currency, zone)...)
	p.Verdict = verdict(l, sale, x.Payout.State == facts.PayoutNone)
	if x.Payout.Winner == nil && slices.ContainsFunc(x.Decisions, func(d facts.ExplainedDecision) bool {
		return d.Decision == commerce.DisputeDeny || d.Decision == commerce.EvidenceRefuse
	}) {
		p.Verdict = l.T("verdict.denied")
	}
	p.Reason = unpaidWords(l, x.Payout.Reason)
	if x.Payout.State == facts.PayoutReview && x.Payout.Winner != nil {
		p.Verdict = l.T("verdict.review", x.Payout.Winner.Influencer)
		p.Decide, p.Deciding = x.Payout.Winner.InfluencerID, l.T("order.decide_text")
	}
	p.selfPurchase(l, x)
	p.Unproven = x.Payout.State == facts.PayoutEarned && x.Payout.Winner != nil && x.Payout.Winner.Proof == facts.ProofClaimed
	if x.Payout.PayableOn != "" {
		p.PayableOn = l.Day(x.Payout.PayableOn)
	}
	p.State, p.StateIs = site.StateWords(l, x.Payout.State, len(p.Ledger) > 0)
	p.TakenBack = x.Payout.State == facts.PayoutReversed
	p.Base = amount(l, x.Payout.Base, sale.Currency)
	for _, c := range x.Payout.Costs {
		line := costLine{Level: levelWord(l, c.Level), Revision: c.Revision, Amounts: amounts(l, c.Amounts, sale.Currency)}
		var parts []string
		if f := c.FixedFee.String(); f != "" && f != "0" {
			parts = append(parts, l.T("cost.per_order", amount(l, c.FixedFee, commerce.BRL)))
		}
		if f := c.VarFee.String(); f != "" && f != "0" {
			parts = append(parts, l.T("cost.percent_of", percentOf(l, c.VarFee), p.Base))
		}
		line.Formula = strings.Join(parts, " + ")
		p.Costs = append(p.Costs, line)
	}
	p.Total = amounts(l, x.Payout.Commissions, sale.Currency)
	if w := x.Payout.Winner; w != nil && w.Proof == facts.ProofAssigned {
		p.Verdict = l.T("verdict.assigned", w.Influencer)
	} else {
		p.WhatIf = whatIf(l, x)
	}
	for _, name := range modelOrder {
		if parts, ok := x.Models[name]; ok {
			line := modelLine{Name: l.T("model." + name), About: l.T("model.about." + name)}
			for _, part := range parts {
				who := part.Influencer
				if who == "" {
					who = site.ChannelWords(l, part.Channel)
				}
				line.Parts = append(line.Parts, modelPart{who, sharePercent(l, part.Share), amount(l, part.Amount, sale.Currency)})
			}
			p.Models = append(p.Models, line)
		}
	}
}

func viewTouch(l *lang.Printer, t facts.ExplainedTouch, zone *time.Location) touchLine {
	line := touchLine{When: t.At, Stamp: t.At, Campaign: t.Campaign, Influencer: t.Influencer, Used: t.Used, Reason: reasonWords(l, t.Reason)}
	if at, err := time.Parse(time.RFC3339, t.At); err == nil {
		line.When = l.Time(at.In(zone))
	}
	line.What = strings.Join(site.Present(t.Source, t.Medium), " / ")
	if t.Source == "influencer" && t.Medium == "link" {
		line.What = l.T("order.link_of")
	}
	if t.Source == "(direct)" {
		line.What = l.T("order.direct")
	}
	if line.What == "" {
		line.What = site.ChannelWords(l, t.Channel)
	}
	if name, _ := site.KeyWords(l, t.MatchedBy); name != "" {
		line.By = strings.ToLower(name)
	}
	if t.Influencer != "" {
		line.Proof = proofWords(l, t.Proof)
		if t.MatchedBy != "" && string(t.Proof) == t.MatchedBy {
			line.Proof, line.By = l.T("order.proven", line.By), ""
		}
	}
	return line
}

// percentOf writes the percentage of a cost.
func percentOf(l *lang.Printer, fee json.Number) string {
	d, err := commerce.ParseDecimal(fee.String())
	if err != nil {
		return fee.String() + "%"
	}
	return l.Number(d) + "%"
}
