package rules

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
)

// mostEntries bounds the list of entries that are of no order: the newest ones.
const mostEntries = 50

// Kinds that the form offers. It asks an adjustment's direction apart, so that nobody types a sign.
const (
	adjustUp   = "add"
	adjustDown = "take"
)

// entryLine is an entry of an influencer's ledger that is of no order.
type entryLine struct{ Kind, Amount, Reason, Day, State, StateIs string }

// entryForm asks for a manual entry. Its id is made with the form: who sends it twice adds one.
func (s *Pages) entryForm(v site.Request, typed map[string][]string) (*site.Form, error) {
	id, err := uuid.NewV7FromReader(s.Random)
	if err != nil {
		return nil, err
	}
	f := site.NewForm(v.Lang, "ledger", typed)
	f.IDs = "e-"
	f.Add(site.Field{Name: "entry_id", Type: "hidden", Value: id.String()})
	f.Add(site.Field{Name: "kind", Type: "select", Value: commerce.EntryBonus,
		Options: f.Options("kind", commerce.EntryBonus, adjustUp, adjustDown, commerce.EntryAdvance, commerce.EntryProduct)})
	f.Add(site.Field{Name: "amount", Max: 64})
	f.Add(site.Field{Name: "currency", Required: true, Max: 3, Value: v.Current.Currency})
	f.Add(site.Field{Name: "reason", Required: true, Max: commerce.MaxText})
	f.Add(site.Field{Name: "day", Type: "date", Required: true, Value: s.DayOf(v)})
	return f, nil
}

// entryNames are the fields of the form, by those of violations.
var entryNames = map[string]string{"date": "day"}

// typedEntry reads the form, and says back what it read. What is wrong fails at the field.
func (s *Pages) typedEntry(r *http.Request, v site.Request, influencerID string, f *site.Form) commerce.NewEntry {
	get := func(name string) string { return strings.TrimSpace(r.PostForm.Get(name)) }
	kind := get("kind")
	e := commerce.NewEntry{EntryID: strings.ToLower(get("entry_id")), InfluencerID: influencerID, Kind: kind,
		Currency: strings.ToUpper(get("currency")), Day: f.Day("day"), Reason: get("reason")}
	if kind == adjustUp || kind == adjustDown {
		e.Kind = commerce.EntryAdjustment
	}
	if _, err := commerce.Exponent(e.Currency); err == nil { // else Check says so at the currency
		e.AmountMinor = f.Money("amount", e.Currency)
	}
	if e.AmountMinor < 0 { // the kind says what is taken
		f.Fail("amount", v.Lang.T("ledger.no_sign"))
	}
	if kind == adjustDown {
		e.AmountMinor = -e.AmountMinor
	}
	f.Refuse(e.Check(s.DayOf(v)), entryNames)
	if f.Failed() {
		return e
	}
	f.Say("kind", v.Lang.T("ledger.kind_"+kind))
	f.Say("amount", v.Lang.Money(e.PostedMinor(), e.Currency))
	f.Say("reason", e.Reason)
	f.Say("day", v.Lang.Day(e.Day))
	return e
}

// addEntry adds a manual entry, as POST /ledger does. It is said back before it is saved.
func (s *Pages) addEntry(w http.ResponseWriter, r *http.Request, v site.Request, i commerce.Influencer) {
	f, err := s.entryForm(v, r.PostForm)
	if err != nil || s.addsEntry == nil {
		s.Unavailable(w, r, errors.Join(err, commerce.ErrUnavailable))
		return
	}
	e := s.typedEntry(r, v, i.InfluencerID, f)
	if !f.Failed() && s.sayBack(w, r, v, f, s.influencerHere(v, i)) {
		return
	}
	if !f.Failed() {
		err = s.addsEntry(r.Context(), s.Author(v), e)
	}
	switch {
	case errors.Is(err, commerce.ErrEntryExists):
		r.PostForm.Del("entry_id") // a new one: who saves it again adds another
		if f, err = s.entryForm(v, r.PostForm); err != nil {
			s.Unavailable(w, r, err)
			return
		}
		f.Alert = v.Lang.T("ledger.exists")
	case s.Stale(r, f, err):
	case err != nil:
		s.NotFoundOr(w, r, err, "no_influencer")
		return
	}
	if f.Failed() {
		s.showInfluencer(w, r, v, f.Status(), influencerPage{Entry: f})
		return
	}
	s.back(w, r, v, "entry_added")
}

// entriesOf lists an influencer's manual entries and what is owed by agreements, the newest first.
func (s *Pages) entriesOf(r *http.Request, v site.Request, influencerID string) (list []entryLine, err error) {
	var entries []commerce.LedgerItem
	for _, of := range []string{commerce.OfEntry, commerce.OfAgreement} {
		some, err := s.db.Ledger(r.Context(), v.Current.CompanyID, s.Now(),
			commerce.LedgerFilter{InfluencerID: influencerID, Of: of}, commerce.LedgerCursor{}, mostEntries)
		if err != nil {
			return nil, err
		}
		entries = append(entries, some...)
	}
	slices.SortStableFunc(entries, func(a, b commerce.LedgerItem) int { return b.At.Compare(a.At) })
	for _, e := range entries[:min(len(entries), mostEntries)] {
		of, _ := e.Account()
		line := entryLine{Kind: v.Lang.T("ledger.agreement"), Reason: e.Reason, Day: v.Lang.Day(e.PayableOn), StateIs: e.State}
		if of == commerce.OfEntry {
			line.Kind = v.Lang.T("entry." + e.Kind)
		}
		if e.Kind != commerce.EntryProduct {
			line.Amount = v.Lang.Money(e.AmountMinor, e.Currency)
		}
		if e.State == commerce.EntryPayable && e.StatementID != "" {
			line.StateIs = "closed"
		}
		line.State = v.Lang.T("ledger.state_" + line.StateIs)
		list = append(list, line)
	}
	return list, nil
}
