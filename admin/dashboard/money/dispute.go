package money

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/lang"
	"github.com/tributary-io/tributary/internal/preview"
	"github.com/tributary-io/tributary/internal/wire"
)

const (
	disputePath     = "/dashboard/order/decide"
	mostInfluencers = 1000 // that the form lists
)

// decidePage is what templates/decide.html shows: the form of a dispute, or what a decision
// would change, to be confirmed.
type decidePage struct {
	site.Head
	Order    string // its name
	ID, Back string
	Credited string // who is paid now
	Form     *site.Form
	Action   string            // where the decision goes
	Question string            // what is to be confirmed; empty: the form is shown
	Hidden   map[string]string // the decision, in the page that asks
	Known    bool              // what would change was computed
	Changes  []changeLine      // a line each currency; none: nothing changes
	Second   bool              // a second person has to confirm it
}

// decideEvidence is what the merchant decides about an influencer's link, as
// POST /order/{orderId}/evidence does. To refuse for good is asked first.
func (s *Pages) decideEvidence(w http.ResponseWriter, r *http.Request, v site.Request) {
	decision := commerce.EvidenceDecision{OrderID: r.URL.Query().Get("id"), InfluencerID: strings.ToLower(r.PostForm.Get("influencer")),
		Decision: r.PostForm.Get("decision")}
	if bad := decision.Check(); bad.Any() || !commerce.IsID(decision.OrderID) {
		s.ProblemOf(w, r, http.StatusBadRequest, "bad_form")
		return
	}
	asks := decision.Decision == commerce.EvidenceRefuse && r.PostForm.Get("step") != "save"
	s.decide(w, r, v, decision, asks, v.Lang.T("dispute.ask_refuse"))
}

// disputePage asks what is decided in a dispute.
func (s *Pages) disputePage(w http.ResponseWriter, r *http.Request, v site.Request) {
	s.showDispute(w, r, v, http.StatusOK, nil)
}

// showDispute shows the form of a dispute, with what was typed; nil: nothing was.
func (s *Pages) showDispute(w http.ResponseWriter, r *http.Request, v site.Request, status int, typed *commerce.EvidenceDecision) {
	sale, err := s.saleOf(r, v)
	if err != nil {
		s.NotFoundOr(w, r, err, "no_order")
		return
	}
	f, err := s.disputeForm(r, v, sale)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	if typed != nil {
		f.Refuse(typed.CheckDispute(), map[string]string{"influencer_id": "influencer"})
	}
	page, err := s.decidePage(r, v, sale)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	page.Form = f
	s.Render(w, r, status, "decide.html", page)
}

// saleOf reads the order whose id the address has.
func (s *Pages) saleOf(r *http.Request, v site.Request) (commerce.ExplainedSale, error) {
	id := r.URL.Query().Get("id")
	if !commerce.IsID(id) {
		return commerce.ExplainedSale{}, commerce.ErrNotFound
	}
	return s.db.ExplainedSale(r.Context(), v.Current.CompanyID, id)
}

func (s *Pages) decidePage(r *http.Request, v site.Request, e commerce.ExplainedSale) (page decidePage, err error) {
	name := site.OrderName(e.Sale)
	v.Here = v.Path(disputePath, "id", e.Sale.OrderID)
	page = decidePage{Head: v.Head(v.Lang.T("dispute.title", name), "orders"), Order: name, ID: e.Sale.OrderID, Action: r.URL.RequestURI(),
		Back: site.OrderPath(v.Current.CompanyID, e.Sale.OrderID), Credited: verdict(v.Lang, e.Sale, false)}
	page.Versions, err = s.VersionsOf(r.Context(), v.Current.CompanyID, e.Sale.OrderID)
	return page, err
}

func (s *Pages) disputeForm(r *http.Request, v site.Request, e commerce.ExplainedSale) (*site.Form, error) {
	list, err := s.db.FindInfluencers(r.Context(), v.Current.CompanyID, commerce.InfluencerSearch{Sort: commerce.SortByName,
		From: s.DayOf(v), Today: s.DayOf(v), Currency: e.Sale.Currency, Limit: mostInfluencers})
	if err != nil {
		return nil, err
	}
	f := site.NewForm(v.Lang, "dispute", r.PostForm)
	chosen, decision := r.URL.Query().Get("influencer"), r.URL.Query().Get("decision")
	if chosen == "" && decision == commerce.DisputeDeny {
		chosen = e.Sale.InfluencerID
	}
	if chosen == "" {
		chosen = decidedOne(e.Explanation)
	}
	options := []site.Option{{Label: v.Lang.T("dispute.choose")}}
	for _, i := range list {
		options = append(options, site.Option{Value: i.InfluencerID, Label: i.Name})
	}
	f.Add(site.Field{Name: "decision", Type: "select", Value: decision, Options: f.Options("decision", commerce.DisputeDecisions...)})
	f.Add(site.Field{Name: "influencer", Type: "select", Value: chosen, Options: options})
	f.Add(site.Field{Name: "reason", Required: true, Max: commerce.MaxDecisionReason})
	return f, nil
}

// decidedOne is the influencer about whom the store has decided; empty where that is nobody or several.
func decidedOne(explanation []byte) (influencerID string) {
	var x facts.Explanation
	if json.Unmarshal(explanation, &x) != nil { // there is none yet
		return ""
	}
	for _, d := range x.Decisions {
		if influencerID != "" && influencerID != d.InfluencerID {
			return ""
		}
		influencerID = d.InfluencerID
	}
	return influencerID
}

// decideDispute decides a dispute, as POST /order/{orderId}/assignment does. What it changes is
// shown first.
func (s *Pages) decideDispute(w http.ResponseWriter, r *http.Request, v site.Request) {
	decision := commerce.EvidenceDecision{OrderID: r.URL.Query().Get("id"), InfluencerID: strings.ToLower(r.PostForm.Get("influencer")),
		Decision: r.PostForm.Get("decision"), Reason: strings.TrimSpace(r.PostForm.Get("reason"))}
	if r.PostForm.Get("step") == "edit" {
		s.showDispute(w, r, v, http.StatusOK, nil)
		return
	}
	if bad := decision.CheckDispute(); bad.Any() {
		s.showDispute(w, r, v, http.StatusUnprocessableEntity, &decision)
		return
	}
	s.decide(w, r, v, decision, r.PostForm.Get("step") != "save", v.Lang.T("dispute.ask"))
}

// decide makes a decision, or asks whether it is to be made. Where the store wants a second person, the decision is proposed.
func (s *Pages) decide(w http.ResponseWriter, r *http.Request, v site.Request, decision commerce.EvidenceDecision, asks bool,
	question string) {
	sale, err := s.saleOf(r, v)
	var company commerce.Company
	if err == nil {
		company, err = s.db.Company(r.Context(), v.Current.CompanyID)
	}
	if err == nil {
		decision.Touches = facts.TouchesOf(sale.Explanation, decision.InfluencerID, wire.MaxAccepted)
		if asks && s.previews != nil {
			if s.ask(w, r, v, sale, question, company.ConfirmDecisions, decision) {
				return
			}
		}
		if company.ConfirmDecisions {
			moves, known, _ := s.movesOf(r, v, decision)
			err = s.db.ProposeDecision(r.Context(), s.Author(v), commerce.Proposal{EvidenceDecision: decision, Moves: movesText(moves, known)})
		} else {
			err = s.OnKafka(r, v, s.db.DecideEvidence(r.Context(), s.Author(v), decision))
		}
	}
	if err != nil {
		s.refusedDecision(w, r, err)
		return
	}
	done := map[string]string{commerce.EvidenceAccept: "decided_accept", commerce.EvidenceRefuse: "decided_refuse",
		commerce.EvidenceWithdraw: "decided_withdraw", commerce.DisputeAssign: "decided_assign", commerce.DisputeDeny: "decided_deny",
		commerce.DisputeRelease: "decided_release"}[decision.Decision]
	to := site.OrderPath(v.Current.CompanyID, decision.OrderID)
	switch fromReviews := r.PostForm.Get("from") == "reviews"; {
	case company.ConfirmDecisions:
		if done = "proposed"; fromReviews {
			to = v.Path(site.ReviewsPath)
		}
	case fromReviews:
		to = v.Path(site.ReviewsPath, "decided", decision.OrderID)
	}
	site.Done(w, r, to, done)
}

// refusedDecision answers why a decision was neither made nor proposed.
func (s *Pages) refusedDecision(w http.ResponseWriter, r *http.Request, err error) {
	for _, of := range []struct {
		err    error
		status int
		key    string
	}{{commerce.ErrNotFound, http.StatusNotFound, "no_order"}, {commerce.ErrTooManyDecisions, http.StatusConflict, "too_many_decisions"},
		{commerce.ErrProposed, http.StatusConflict, "proposed"}, {commerce.ErrTooManyProposals, http.StatusConflict, "too_many_proposals"},
		{commerce.ErrNeedsSecond, http.StatusConflict, "stale"}, {commerce.ErrNoSecondNeeded, http.StatusConflict, "stale"}} {
		if errors.Is(err, of.err) {
			s.ProblemOf(w, r, of.status, of.key)
			return
		}
	}
	s.Unavailable(w, r, err)
}

// movesOf returns what a decision would change about the order. known is false where that cannot be found out now; refused is
// why the decision cannot be made.
func (s *Pages) movesOf(r *http.Request, v site.Request, decision commerce.EvidenceDecision) (moves []preview.Move, known bool,
	refused error) {
	if s.previews == nil {
		return nil, false, nil
	}
	answer, err := site.Preview(r.Context(), s.previews, v.Current.CompanyID, func(ctx context.Context) error {
		return s.db.DecideEvidence(ctx, s.Author(v), decision)
	})
	switch {
	case err == nil:
		return answer.Moves, true, nil
	case !errors.Is(err, site.ErrNoPreview):
		return nil, false, err
	}
	s.Log.Warn("dashboard: a decision could not be previewed", "company", v.Current.CompanyID, "error", err)
	return nil, false, nil
}

// ask shows what a decision would change about the order, and asks whether to make it. It
// returns false where the decision is refused: making it says why.
func (s *Pages) ask(w http.ResponseWriter, r *http.Request, v site.Request, sale commerce.ExplainedSale, question string, second bool,
	decision commerce.EvidenceDecision) bool {
	moves, known, refused := s.movesOf(r, v, decision)
	if refused != nil {
		return false
	}
	page, failed := s.decidePage(r, v, sale)
	if failed != nil {
		s.Unavailable(w, r, failed)
		return true
	}
	page.Question, page.Known, page.Hidden, page.Second = question, known, map[string]string{}, second
	for _, name := range []string{"influencer", "decision", "reason", "from", site.VersionField} {
		if value := r.PostForm.Get(name); value != "" {
			page.Hidden[name] = value
		}
	}
	page.Changes = changesOf(v.Lang, moves)
	s.Render(w, r, http.StatusOK, "decide.html", page)
	return true
}

// changeLine is who has what of an order before and after, in one currency.
type changeLine struct{ From, To, FromIs, ToIs string }

func changesOf(l *lang.Printer, moves []preview.Move) (list []changeLine) {
	for _, m := range moves {
		var line changeLine
		line.From, line.FromIs = site.ShareWords(l, m.From)
		line.To, line.ToIs = site.ShareWords(l, m.To)
		list = append(list, line)
	}
	return list
}
