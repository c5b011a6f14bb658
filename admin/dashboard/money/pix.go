package money

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/uuidtext"
)

const pixPath = site.StatementsPath + "/pix"

// pixPage is what templates/pix.html shows: the statements that are to be paid, with their BR Codes.
type pixPage struct {
	site.Head
	List    []pixRow
	Hidden  bool // there are more
	Blocked bool // nothing is paid until an owner confirms: there are no codes
	Back    string
}

type pixRow struct {
	Number, Influencer, Total, Key, TxID string
	Code                                 string // as it is copied; empty: there is none
	Image                                string // path of its QR code
	Why                                  string // there is no code
}

// dueStatements reads the statements that are to be paid, at most commerce.MostPaidAtOnce and one.
func (s *Pages) dueStatements(ctx context.Context, v site.Request) ([]commerce.Statement, error) {
	carried := false
	return s.db.Statements(ctx, v.Current.CompanyID, commerce.StatementFilter{State: commerce.StatementClosed, Carried: &carried},
		commerce.StatementCursor{}, commerce.MostPaidAtOnce+1)
}

// duePayees reads the statements that are to be paid, and to whom.
func (s *Pages) duePayees(ctx context.Context, v site.Request) ([]commerce.Statement, map[string]commerce.Details, error) {
	list, err := s.dueStatements(ctx, v)
	if err != nil {
		return nil, nil, err
	}
	ids := make([]string, len(list))
	for i, st := range list {
		ids[i] = st.InfluencerID
	}
	payees, err := s.db.Payees(ctx, v.Current.CompanyID, ids)
	return list, payees, err
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
	list, payees, err := s.duePayees(r.Context(), v)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	page := pixPage{Head: v.Head(v.Lang.T("pix.title"), "statements"), Blocked: !v.Current.RestoredAt.IsZero(),
		Back: site.StorePath(site.StatementsPath, v.Current.CompanyID)}
	page.File = site.StorePath(pixPath+site.CSVEnding, v.Current.CompanyID)
	if page.Hidden = len(list) > commerce.MostPaidAtOnce; page.Hidden {
		list = list[:commerce.MostPaidAtOnce]
	}
	for _, st := range list {
		payee := payees[st.InfluencerID]
		row := pixRow{Number: st.NumberText(), Influencer: st.Influencer, Total: v.Lang.Sum(st.NetMinor(), st.Currency),
			Key: payee.Pix.Key, TxID: st.TxID(), Image: site.StorePath(pixPath+".svg", v.Current.CompanyID, "id", st.StatementID)}
		if row.Code, err = st.BRCode(payee, s.Now()); err != nil {
			row.Why = whyNoCode(v, err)
		}
		page.List = append(page.List, row)
	}
	s.Render(w, r, http.StatusOK, "pix.html", page)
}

// pixCode is the QR code of a statement that is to be paid.
func (s *Pages) pixCode(w http.ResponseWriter, r *http.Request, v site.Request) {
	id, err := strings.ToLower(r.URL.Query().Get("id")), error(commerce.ErrNotFound)
	var st commerce.Statement
	if uuidtext.Is(id) {
		st, err = s.db.Statement(r.Context(), v.Current.CompanyID, id)
	}
	var payees map[string]commerce.Details
	if err == nil {
		payees, err = s.db.Payees(r.Context(), v.Current.CompanyID, []string{st.InfluencerID})
	}
	if err != nil {
		s.NotFoundOr(w, r, err, "no_statement")
		return
	}
	code, err := st.BRCode(payees[st.InfluencerID], s.Now())
	if err != nil || st.State != commerce.StatementClosed || st.Carried || !v.Current.RestoredAt.IsZero() {
		s.ProblemOf(w, r, http.StatusNotFound, "no_statement")
		return
	}
	s.SendQR(w, r, code)
}

// pixFile is the table for the bank. Documents are whole for owners alone.
func (s *Pages) pixFile(ctx context.Context, _ *http.Request, v site.Request, f *site.ListFile) error {
	list, payees, err := s.duePayees(ctx, v)
	if err != nil || !v.Current.RestoredAt.IsZero() {
		return err
	}
	for _, st := range list {
		payee, why, key := payees[st.InfluencerID], "", ""
		if _, err := st.BRCode(payee, s.Now()); err != nil {
			why = whyNoCode(v, err)
		} else {
			key = payee.Pix.Key
		}
		document := payee.Document
		if v.Current.Role != account.RoleOwner {
			document = commerce.MaskedDocument(document)
		}
		if err := f.Add(st.NumberText(), st.Influencer, document, payee.Pix.Type, key, site.MinorText(st.NetMinor(), st.Currency), st.Currency,
			st.TxID(), why, st.StatementID); err != nil {
			return err
		}
	}
	return nil
}
