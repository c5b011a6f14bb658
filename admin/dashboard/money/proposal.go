package money

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/preview"
)

const proposalPath = "/dashboard/order/proposal"

// proposalRow is a decision that waits for a second person.
type proposalRow struct {
	ID, Order     string // the order's id and name; empty: it is about the rule
	Href          string // of its page
	What, By      string // sentences
	Reason        string
	Changes       []changeLine // when it was proposed
	Known         bool         // those were computed
	Mine, Confirm bool         // who looks proposed it; may confirm it
	Why           string       // who looks cannot confirm it; empty: they can
	At, OrderAt   int64        // as forms have them, in microseconds
}

// proposalPage is what templates/proposal.html shows.
type proposalPage struct {
	site.Head
	proposalRow
	Subject  string // of its version
	Credited string // who is paid now
	Now      []changeLine
	NowKnown bool // Now was computed
	Alert    string
	Form     *site.Form // of who refuses it
	Back     string
	BackName string
}

// proposedShare is a preview.Share as a proposal keeps it.
type proposedShare struct {
	Influencer string            `json:"influencer"`
	Minor      decimal.Decimal   `json:"minor"`
	State      facts.PayoutState `json:"state"`
	Reason     facts.Reason      `json:"reason,omitempty"`
	PayableOn  string            `json:"payable_on,omitempty"`
}

type proposedMove struct {
	From, To *proposedShare
	Currency string
}

// movesText writes what a decision would move, for the proposal.
func movesText(moves []preview.Move, known bool) json.RawMessage {
	if !known {
		return nil
	}
	share := func(s *preview.Share) *proposedShare {
		if s == nil {
			return nil
		}
		return &proposedShare{s.Influencer, s.Amount.Minor, s.State, s.Reason, s.PayableOn}
	}
	kept := []proposedMove{}
	for _, m := range moves {
		kept = append(kept, proposedMove{share(m.From), share(m.To), m.Currency})
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return nil
	}
	return text
}

// readMoves reads what movesText wrote.
func readMoves(text json.RawMessage) (moves []preview.Move, known bool) {
	var kept []proposedMove
	if len(text) == 0 || json.Unmarshal(text, &kept) != nil {
		return nil, false
	}
	for _, m := range kept {
		share := func(s *proposedShare) *preview.Share {
			if s == nil {
				return nil
			}
			return &preview.Share{Influencer: s.Influencer, Amount: commerce.Sum{Minor: s.Minor, Currency: m.Currency}, State: s.State,
				Reason: s.Reason, PayableOn: s.PayableOn}
		}
		moves = append(moves, preview.Move{From: share(m.From), To: share(m.To), Currency: m.Currency})
	}
	return moves, true
}

// waitingProposals shows what waits for a second person on the page of what is to be decided.
func (s *Pages) waitingProposals(r *http.Request, v site.Request, page *reviewsPage) error {
	company, err := s.db.Company(r.Context(), v.Current.CompanyID)
	if err != nil {
		return err
	}
	list, err := s.db.Proposals(r.Context(), s.Author(v))
	if err != nil {
		return err
	}
	page.Rule, page.Proposed = company.ConfirmDecisions, int64(len(list))
	for i := range list {
		page.Proposals = append(page.Proposals, s.proposalRow(v, &list[i]))
		page.RuleEnds = page.RuleEnds || list[i].OrderID == ""
	}
	return s.nameOrders(r, v, page.Proposals)
}

func (s *Pages) proposalRow(v site.Request, p *commerce.Proposal) proposalRow {
	l, zone := v.Lang, v.Zone()
	who := site.ActorWords(l, account.AuditEntry{Actor: p.By, Name: p.ByName})
	moves, known := readMoves(p.Moves)
	row := proposalRow{ID: p.OrderID, Order: p.OrderID, Href: v.Path(proposalPath, "id", p.OrderID),
		What: l.T("proposal.what_"+p.Decision, p.Influencer), Reason: p.Reason, Changes: changesOf(l, moves), Known: known,
		By: l.T("proposal.by", who, l.Time(p.At.In(zone)), l.Time(p.EndsAt().In(zone))), Mine: p.By == v.Actor(),
		At: p.At.UnixMicro(), OrderAt: p.OrderAt.UnixMicro()}
	switch {
	case !v.MayPay():
		row.Why = l.T("proposal.role")
	case !p.Anybody:
		row.Why = l.T("proposal.nobody")
	case row.Mine:
		row.Why = l.T("proposal.mine")
	case !p.Second:
		row.Why = l.T("proposal.not_you", who)
	default:
		row.Confirm = true
	}
	return row
}

// proposalOf is what waits about an order; nil: nothing does. An empty id is that of the rule.
func (s *Pages) proposalOf(r *http.Request, v site.Request, orderID string) (*commerce.Proposal, error) {
	list, err := s.db.Proposals(r.Context(), s.Author(v))
	for i := range list {
		if list[i].OrderID == orderID {
			return &list[i], err
		}
	}
	return nil, err
}

// nameOrders gives the orders of proposals their names.
func (s *Pages) nameOrders(r *http.Request, v site.Request, rows []proposalRow) error {
	var ids []string
	for _, row := range rows {
		if row.ID != "" {
			ids = append(ids, row.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	sales, err := s.db.SalesOf(r.Context(), v.Current.CompanyID, ids)
	for _, sale := range sales {
		for i := range rows {
			if rows[i].ID == sale.OrderID {
				rows[i].Order = site.OrderName(sale)
			}
		}
	}
	return err
}

func (s *Pages) proposal(w http.ResponseWriter, r *http.Request, v site.Request) {
	s.showProposal(w, r, v, http.StatusOK, "", nil)
}

// showProposal shows a decision that waits, with what it would change now.
func (s *Pages) showProposal(w http.ResponseWriter, r *http.Request, v site.Request, status int, alert string, f *site.Form) {
	id := r.URL.Query().Get("id")
	p, err := s.proposalOf(r, v, id)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	if p == nil {
		s.ProblemOf(w, r, http.StatusNotFound, "no_proposal")
		return
	}
	if f == nil {
		f = s.refusalForm(v, nil)
	}
	page := proposalPage{proposalRow: s.proposalRow(v, p), Alert: alert, Form: f, Subject: v.Current.CompanyID,
		Back: v.Path(site.ReviewsPath), BackName: v.Lang.T("reviews.title")}
	title := v.Lang.T("proposal.title_rule")
	if id != "" {
		sale, err := s.saleOf(r, v)
		if err != nil {
			s.NotFoundOr(w, r, err, "no_order")
			return
		}
		var moves []preview.Move
		moves, page.NowKnown, _ = s.movesOf(r, v, p.EvidenceDecision)
		page.Now, page.Subject = changesOf(v.Lang, moves), id
		page.Order, page.Credited = site.OrderName(sale.Sale), verdict(v.Lang, sale.Sale, false)
		page.Back, page.BackName = site.OrderPath(v.Current.CompanyID, id), v.Lang.T("order.title", page.Order)
		title = v.Lang.T("proposal.title", page.Order)
	}
	v.Here = page.Href
	page.Head = v.Head(title, "reviews")
	if page.Versions, err = s.VersionsOf(r.Context(), v.Current.CompanyID, page.Subject); err != nil {
		s.Unavailable(w, r, err)
		return
	}
	s.Render(w, r, status, "proposal.html", page)
}

func (s *Pages) refusalForm(v site.Request, typed map[string][]string) *site.Form {
	f := site.NewForm(v.Lang, "proposal", typed)
	f.Add(site.Field{Name: "reason", Required: true, Max: commerce.MaxDecisionReason})
	return f
}

// seenProposal reads what the form showed; false: it is no form of ours.
func seenProposal(r *http.Request) (seen commerce.SeenProposal, ok bool) {
	at, err := strconv.ParseInt(r.PostForm.Get("at"), 10, 64)
	orderAt, failed := strconv.ParseInt(r.PostForm.Get("order_at"), 10, 64)
	return commerce.SeenProposal{OrderID: r.URL.Query().Get("id"), At: time.UnixMicro(at).UTC(), OrderAt: time.UnixMicro(orderAt).UTC()},
		err == nil && failed == nil
}

// confirmProposal makes what another person proposed.
func (s *Pages) confirmProposal(w http.ResponseWriter, r *http.Request, v site.Request) {
	seen, ok := seenProposal(r)
	if !ok {
		s.ProblemOf(w, r, http.StatusBadRequest, "bad_form")
		return
	}
	err := s.OnKafka(r, v, s.db.ConfirmProposal(r.Context(), s.Author(v), seen))
	if err != nil {
		s.refusedProposal(w, r, v, err)
		return
	}
	to, done := site.OrderPath(v.Current.CompanyID, seen.OrderID), "proposal_confirmed"
	if seen.OrderID == "" {
		to, done = v.Path(site.SettingsPath), "settings_saved"
	}
	site.Done(w, r, to, done)
}

// refusedProposal says why a proposal was neither confirmed nor ended, beside the proposal as it is now.
func (s *Pages) refusedProposal(w http.ResponseWriter, r *http.Request, v site.Request, err error) {
	words, stale := s.StaleWords(r, err)
	switch {
	case errors.Is(err, commerce.ErrSamePerson):
		s.showProposal(w, r, v, http.StatusForbidden, v.Lang.T("proposal.same_person"), nil)
	case errors.Is(err, commerce.ErrOrderChanged):
		s.showProposal(w, r, v, http.StatusConflict, v.Lang.T("proposal.order_changed"), nil)
	case stale:
		s.showProposal(w, r, v, http.StatusConflict, words, nil)
	case errors.Is(err, commerce.ErrTooManyDecisions):
		s.ProblemOf(w, r, http.StatusConflict, "too_many_decisions")
	case errors.Is(err, commerce.ErrNotFound), errors.Is(err, commerce.ErrConflict):
		s.ProblemOf(w, r, http.StatusConflict, "no_proposal")
	default:
		s.Unavailable(w, r, err)
	}
}

// endProposal withdraws or refuses a proposal.
func (s *Pages) endProposal(w http.ResponseWriter, r *http.Request, v site.Request) {
	seen, ok := seenProposal(r)
	if !ok {
		s.ProblemOf(w, r, http.StatusBadRequest, "bad_form")
		return
	}
	p, err := s.proposalOf(r, v, seen.OrderID)
	f, reason := s.refusalForm(v, r.PostForm), strings.TrimSpace(r.PostForm.Get("reason"))
	switch {
	case err != nil:
		s.Unavailable(w, r, err)
		return
	case p != nil && p.By == v.Actor():
	default:
		f.Refuse(commerce.CheckReason(reason), nil)
	}
	if f.Failed() {
		s.showProposal(w, r, v, f.Status(), "", f)
		return
	}
	if err := s.db.EndProposal(r.Context(), s.Author(v), seen, reason); err != nil {
		s.refusedProposal(w, r, v, err)
		return
	}
	to, done := v.Path(site.ReviewsPath), "proposal_ended"
	if seen.OrderID != "" {
		to = site.OrderPath(v.Current.CompanyID, seen.OrderID)
	}
	site.Done(w, r, to, done)
}

// proposeOff proposes that decisions need no second person any more.
func (s *Pages) proposeOff(w http.ResponseWriter, r *http.Request, v site.Request) {
	off := commerce.Proposal{EvidenceDecision: commerce.EvidenceDecision{Decision: commerce.RuleOff}}
	if err := s.db.ProposeDecision(r.Context(), s.Author(v), off); err != nil {
		s.refusedDecision(w, r, err)
		return
	}
	site.Done(w, r, v.Path(site.ReviewsPath), "proposed")
}
