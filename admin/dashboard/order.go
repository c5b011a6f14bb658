package dashboard

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
)

// orderPage is what templates/order.html shows.
type orderPage struct {
	head
	Order     orderRow
	ID        string
	When      string
	Back      string
	Verdict   string // one sentence: who is paid and why
	Explained bool   // false: the order has no explanation yet
	Changing  bool   // it is being computed again
	Keys      []keyLine
	Touches   []touchLine
	Losers    []string
	Reason    string // why nothing is owed; empty where something is
	Base      string
	Costs     []costLine
	Total     []string // commission, a line a currency
	State     string   // what the commission is, in a word
	StateIs   string   // approved | pending | cancelled: a class
	Unproven  bool     // paid though nothing proves it
	Decide    string   // the operation of the admin API that ends the review; empty: it is in none
	PayableOn string   // the day from which it may be paid; empty: nothing is owed
	TakenBack bool     // cancelled: the costs are what was owed before
	Ledger    []ledgerLine
	Net       []string
	WhatIf    []string
	Models    []modelLine
}

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

func (s *Server) order(w http.ResponseWriter, r *http.Request, v pageRequest) {
	id := r.URL.Query().Get("id")
	var e commerce.ExplainedSale
	err := commerce.ErrNotFound
	if commerce.IsID(id) {
		e, err = s.db.ExplainedSale(r.Context(), v.current.CompanyID, id)
	}
	if errors.Is(err, commerce.ErrNotFound) {
		s.problemOf(w, r, v.access, http.StatusNotFound, "No such order here (yet)",
			"An order shows within moments of being accepted. Check its id, and whether it was sent to live or to sandbox.")
		return
	}
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	zone := zoneOf(v.current.Timezone)
	page := orderPage{
		head: v.head("Order "+orderName(e.Sale), ""), Order: viewSale(e.Sale, v.current.CompanyID, zone), ID: e.Sale.OrderID,
		When: e.Sale.CreatedAt.In(zone).Format("Monday, 2 January 2006, 15:04"), Back: dayPath(v.current.CompanyID, e.Sale.Day),
	}
	page.ledger(e, zone)
	if e.Sale.InfluencerID != "" {
		page.Verdict = verdict(e.Sale, false)
	}
	var x facts.Explanation
	if len(e.Explanation) > 0 {
		if err := json.Unmarshal(e.Explanation, &x); err != nil {
			// The page still shows the order and its ledger.
			s.log.Error("dashboard: explanation is not in its shape", "company", v.current.CompanyID, "order", id, "error", err)
		} else {
			page.Explained, page.Changing = true, e.Recomputing
			page.explain(x, e.Sale, zone)
		}
	}
	s.render(w, http.StatusOK, "order.html", page)
}

// verdict says who is credited and why. unpaid: no commission is owed, whatever
// the order's status.
func verdict(s commerce.Sale, unpaid bool) string {
	if s.InfluencerID == "" {
		return "No influencer is credited: the order carries no coupon of an influencer, and no proven link of one led to it."
	}
	text := s.Influencer + " is credited, because the order used their coupon."
	if s.DiscountCode != "" {
		text = s.Influencer + " is credited, because the order used their coupon: " + s.DiscountCode + "."
	}
	if s.Evidence == commerce.EvidenceLink {
		text = s.Influencer + " is credited, because the shopper came through their link."
	}
	switch {
	case unpaid: // the page says why
	case s.Status == commerce.OrderPending:
		text += " The commission falls due when the order is approved."
	case s.Status == commerce.OrderCancelled:
		text += " The order was cancelled, so nothing is owed."
	}
	return text
}

func (p *orderPage) ledger(e commerce.ExplainedSale, zone *time.Location) {
	net := sums{}
	for _, l := range e.Ledger {
		net.add(l.Currency, decimal.NewFromInt(l.AmountMinor))
		p.Ledger = append(p.Ledger, ledgerLine{
			Entry: l.Entry, When: l.At.In(zone).Format("2 Jan 2006, 15:04:05"), Stamp: l.At.In(zone).Format(time.RFC3339),
			Kind: strings.ToUpper(l.Kind[:1]) + l.Kind[1:], Who: l.Influencer,
			Agreement: agreement(l, e.Sale.Currency), Cause: causeWords(l.Cause, zone),
			Amount: money(l.AmountMinor, l.Currency), Negative: l.AmountMinor < 0, ReversesEntryShown: l.Reverses,
		})
	}
	p.Net = net.lines(e.Sale.Currency)
}

func (p *orderPage) explain(x facts.Explanation, sale commerce.Sale, zone *time.Location) {
	for _, k := range x.Keys {
		name, about := keyWords(string(k.Kind))
		line := keyLine{Name: name, About: about, Hub: k.Hub, Visitors: plural(int64(k.Visitors), "device")}
		switch {
		case !k.Counted():
			line.Visitors = "not used: too many orders share it"
		case k.Hub:
			line.Visitors = "not used: too many people share it"
		}
		p.Keys = append(p.Keys, line)
	}
	for _, t := range x.Touches {
		line := touchLine{When: t.At, Stamp: t.At, Campaign: t.Campaign, Influencer: t.Influencer, Used: t.Used, Reason: t.Reason}
		if at, err := time.Parse(time.RFC3339, t.At); err == nil {
			line.When = at.In(zone).Format("2 Jan 2006, 15:04")
		}
		line.What = strings.Join(present(t.Source, t.Medium), " / ")
		if t.Source == "(direct)" {
			line.What = "Direct visit"
		}
		if line.What == "" {
			line.What = t.Channel
		}
		if name, _ := keyWords(t.MatchedBy); name != "" {
			line.By = strings.ToLower(name)
		}
		if t.Influencer != "" {
			line.Proof = proofWords(t.Proof)
		}
		p.Touches = append(p.Touches, line)
	}
	for _, l := range x.Payout.Losers {
		p.Losers = append(p.Losers, l.Influencer+" had a "+string(l.Evidence)+": "+l.Reason)
	}
	p.Verdict = verdict(sale, x.Payout.State == facts.PayoutNone)
	p.Reason = unpaidWords(x.Payout.Reason)
	if x.Payout.State == facts.PayoutReview && x.Payout.Winner != nil {
		p.Verdict = x.Payout.Winner.Influencer + " may have brought this sale by a link. Nothing is owed until you decide."
		p.Decide = "POST /order/" + url.PathEscape(sale.OrderID) + "/evidence"
	}
	p.Unproven = x.Payout.State == facts.PayoutEarned && x.Payout.Winner != nil && x.Payout.Winner.Proof == facts.ProofClaimed
	if day, err := time.Parse(time.DateOnly, x.Payout.PayableOn); err == nil {
		p.PayableOn = day.Format("2 Jan 2006")
	}
	p.State, p.StateIs = stateWords(x.Payout.State, len(p.Ledger) > 0)
	p.TakenBack = x.Payout.State == facts.PayoutReversed
	p.Base = amount(x.Payout.Base, sale.Currency)
	for _, c := range x.Payout.Costs {
		line := costLine{Level: levelWord(c.Level), Revision: c.Revision, Amounts: amounts(c.Amounts, sale.Currency)}
		var parts []string
		if f := c.FixedFee.String(); f != "" && f != "0" {
			parts = append(parts, amount(c.FixedFee, commerce.BRL)+" an order")
		}
		if f := c.VarFee.String(); f != "" && f != "0" {
			parts = append(parts, f+"% of "+p.Base)
		}
		line.Formula = strings.Join(parts, " + ")
		p.Costs = append(p.Costs, line)
	}
	p.Total = amounts(x.Payout.Commissions, sale.Currency)
	p.WhatIf = whatIf(x)
	for _, name := range modelOrder {
		if parts, ok := x.Models[name]; ok {
			line := modelLine{Name: modelWords[name][0], About: modelWords[name][1]}
			for _, part := range parts {
				who := part.Influencer
				if who == "" {
					who = part.Channel
				}
				line.Parts = append(line.Parts, modelPart{who, sharePercent(part.Share), amount(part.Amount, sale.Currency)})
			}
			p.Models = append(p.Models, line)
		}
	}
}
