package money

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/uuidtext"
)

const pixPath = site.StatementsPath + "/pix"

// pixPage is what templates/pix.html shows: the statements that are to be paid, with their BR Codes.
type pixPage struct {
	site.Head
	List     []pixRow
	Hidden   bool // there are more
	Blocked  bool // nothing is paid until an owner confirms: there are no codes
	Alert    string
	Confirms string // where a second person confirms a key
	Back     string
}

type pixRow struct {
	Number, Influencer, Total, Key, TxID string
	Code                                 string   // as it is copied; empty: there is none
	Image                                string   // path of its QR code
	Why                                  string   // there is no code
	Notes                                []string // that the key is another one
	NewKey, Changed                      string   // the key that waits for a second person, and when it changed; empty: none waits
	InfluencerID                         string
	Tell                                 *site.PayeeMessage // to the influencer's former e-mail, beside NewKey; nil: none
}

// dueStatements reads the statements that are to be paid, at most commerce.MostPaidAtOnce and one.
func (s *Pages) dueStatements(ctx context.Context, v site.Request) ([]commerce.Statement, error) {
	carried := false
	return s.db.Statements(ctx, v.Current.CompanyID, commerce.StatementFilter{State: commerce.StatementClosed, Carried: &carried},
		commerce.StatementCursor{}, commerce.MostPaidAtOnce+1)
}

// payees are to whom statements are paid.
type payees struct {
	parties  map[string]commerce.Parties // as the closing froze them, by statement
	details  map[string]commerce.Details // as they are now, by influencer
	lastPaid map[string]time.Time        // by influencer
}

// payeesOf reads to whom statements are paid.
func (s *Pages) payeesOf(ctx context.Context, companyID string, list []commerce.Statement) (p payees, err error) {
	ids, influencers := make([]string, len(list)), make([]string, len(list))
	for i := range list {
		ids[i], influencers[i] = list[i].StatementID, list[i].InfluencerID
	}
	if p.parties, err = s.db.Parties(ctx, companyID, ids); err != nil {
		return p, err
	}
	if p.details, err = s.db.Payees(ctx, companyID, influencers); err != nil {
		return p, err
	}
	p.lastPaid, err = s.db.LastPaid(ctx, companyID, influencers)
	return p, err
}

// code is the BR Code of a statement, and the key to which it is paid.
func (p payees) code(st commerce.Statement, at time.Time) (code string, key commerce.Pix, err error) {
	parties, details := p.parties[st.StatementID], p.details[st.InfluencerID]
	if key, err = parties.PaidTo(details, at); err == nil || st.Currency != commerce.BRL {
		code, err = st.BRCode(parties, details, at)
	}
	return code, key, err
}

// keyNotes says that the influencer's key is another one than at the closing, and than at the last payment.
func (p payees) keyNotes(v site.Request, st commerce.Statement) (notes []string) {
	details := p.details[st.InfluencerID]
	if p.parties[st.StatementID].PixChangedSince(details) {
		note := v.Lang.T("pix.changed_since_closing")
		if details.Pix != (commerce.Pix{}) && !details.PixConfirmed {
			note += " " + v.Lang.T("pix.pays_former")
		}
		notes = append(notes, note)
	}
	if details.PixChangedSince(p.lastPaid[st.InfluencerID]) {
		notes = append(notes, v.Lang.T("pix.changed_since_payment"))
	}
	return notes
}

// whyNoCode says why there is no BR Code.
func whyNoCode(v site.Request, err error) string {
	for _, of := range []struct {
		err error
		key string
	}{{commerce.ErrNotBRL, "not_brl"}, {commerce.ErrNoPixKey, "no_key"}, {commerce.ErrNewPixKey, "new_key"}} {
		if errors.Is(err, of.err) {
			return v.Lang.T("pix." + of.key)
		}
	}
	return v.Lang.T("pix.no_code")
}

// pix shows a BR Code for each statement that is to be paid in BRL, and says of the others why not.
func (s *Pages) pix(w http.ResponseWriter, r *http.Request, v site.Request) {
	s.showPix(w, r, v, http.StatusOK, "")
}

func (s *Pages) showPix(w http.ResponseWriter, r *http.Request, v site.Request, status int, alert string) {
	v.Here = v.Path(pixPath)
	list, err := s.dueStatements(r.Context(), v)
	var to payees
	if err == nil {
		to, err = s.payeesOf(r.Context(), v.Current.CompanyID, list)
	}
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	page := pixPage{Alert: alert, Head: v.Head(v.Lang.T("pix.title"), "statements"), Blocked: !v.Current.RestoredAt.IsZero(),
		Back: v.Path(site.StatementsPath)}
	page.File = v.Path(pixPath + site.CSVEnding)
	if page.Hidden = len(list) > commerce.MostPaidAtOnce; page.Hidden {
		list = list[:commerce.MostPaidAtOnce]
	}
	ids := make([]string, len(list))
	for i, st := range list {
		row := s.pixRow(v, st, to)
		if ids[i] = st.InfluencerID; row.Changed != "" {
			page.Confirms = v.Path(pixPath + "/confirm")
		}
		page.List = append(page.List, row)
	}
	if page.Versions, err = s.VersionsOf(r.Context(), v.Current.CompanyID, ids...); err != nil {
		s.Unavailable(w, r, err)
		return
	}
	s.Render(w, r, status, "pix.html", page)
}

// pixRow is a statement that is to be paid. It says where the key is another one than before.
func (s *Pages) pixRow(v site.Request, st commerce.Statement, to payees) pixRow {
	row := pixRow{Number: st.NumberText(), Influencer: st.Influencer, Total: v.Lang.Sum(st.NetMinor(), st.Currency),
		TxID: st.TxID(), Image: v.Path(pixPath+".svg", "id", st.StatementID), InfluencerID: st.InfluencerID}
	code, key, err := to.code(st, s.Now())
	if row.Code, row.Key = code, key.Key; err != nil {
		row.Why = whyNoCode(v, err)
	}
	row.Notes = to.keyNotes(v, st)
	details := to.details[st.InfluencerID]
	changed := details.Changed[commerce.DetailPix]
	if details.Pix.Key != "" && !details.PixConfirmed && (key != details.Pix || errors.Is(err, commerce.ErrNewPixKey)) {
		row.NewKey, row.Changed = details.Pix.Key, strconv.FormatInt(changed.At.UnixMicro(), 10)
		row.Tell = site.TellPayee(v.Lang, v.Current.Name, st.Influencer, details, s.Now())
	}
	return row
}

// confirmPix takes the word of a second person that an influencer's new key is theirs.
func (s *Pages) confirmPix(w http.ResponseWriter, r *http.Request, v site.Request) {
	id := strings.ToLower(r.PostForm.Get("influencer"))
	micros, err := strconv.ParseInt(r.PostForm.Get("changed"), 10, 64)
	if err != nil || !uuidtext.Is(id) {
		s.ProblemOf(w, r, http.StatusBadRequest, "bad_form")
		return
	}
	err = s.OnKafka(r, v, s.db.ConfirmPix(r.Context(), s.Author(v), id, time.UnixMicro(micros).UTC()))
	switch _, stale := s.StaleWords(r, err); {
	case errors.Is(err, commerce.ErrSamePerson):
		s.showPix(w, r, v, http.StatusForbidden, v.Lang.T("pix.same_person"))
	case stale || errors.Is(err, commerce.ErrConflict):
		s.showPix(w, r, v, http.StatusConflict, v.Lang.T("pix.changed_again"))
	case err != nil:
		s.NotFoundOr(w, r, err, "no_influencer")
	default:
		site.Done(w, r, v.Path(pixPath), "pix_confirmed")
	}
}

// pixCode is the QR code of a statement that is to be paid.
func (s *Pages) pixCode(w http.ResponseWriter, r *http.Request, v site.Request) {
	st, ok := s.askedStatement(w, r, v)
	if !ok {
		return
	}
	to, err := s.payeesOf(r.Context(), v.Current.CompanyID, []commerce.Statement{st})
	if err != nil {
		s.NotFoundOr(w, r, err, "no_statement")
		return
	}
	code, _, err := to.code(st, s.Now())
	if err != nil || st.State != commerce.StatementClosed || st.Carried || !v.Current.RestoredAt.IsZero() {
		s.ProblemOf(w, r, http.StatusNotFound, "no_statement")
		return
	}
	s.SendQR(w, r, code)
}

// pixFile is the table for the bank. Documents are whole for owners alone.
func (s *Pages) pixFile(ctx context.Context, _ *http.Request, v site.Request, f *site.ListFile) error {
	list, err := s.dueStatements(ctx, v)
	if err != nil || !v.Current.RestoredAt.IsZero() {
		return err
	}
	to, err := s.payeesOf(ctx, v.Current.CompanyID, list)
	if err != nil {
		return err
	}
	for _, st := range list {
		why := ""
		_, key, err := to.code(st, s.Now())
		if err != nil {
			why, key.Key = whyNoCode(v, err), ""
		}
		document := to.parties[st.StatementID].Influencer.Document
		if v.Current.Role != account.RoleOwner {
			document = commerce.MaskedDocument(document)
		}
		f.Add(st.NumberText(), st.Influencer, document, key.Type, key.Key, site.MinorText(st.NetMinor(), st.Currency), st.Currency,
			st.TxID(), why, st.StatementID)
	}
	return nil
}
