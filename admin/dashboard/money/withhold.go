package money

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
)

const withholdPath = site.StatementsPath + "/withhold"

// withholdPage is what templates/withhold.html shows: the form of what is withheld of a statement, or what was typed, to be
// confirmed.
type withholdPage struct {
	site.Head
	ID, Name, Total, Back string
	Action                string // address of the form
	Form                  *site.Form
	Net                   string   // what will be paid, in the page that asks; empty: the form is shown
	Typed                 []string // names of what was typed, with Value
	Value                 func(name string) string
}

// withholdPage shows the form.
func (s *Pages) withholdPage(w http.ResponseWriter, r *http.Request, v site.Request) {
	if st, ok := s.askedStatement(w, r, v); ok {
		s.showWithhold(w, r, v, http.StatusOK, st, withholdForm(v, st, nil), "")
	}
}

// withheldFields are the form's names and amounts.
var withheldFields = [commerce.MostWithheld]struct{ name, amount string }{
	{"name_1", "amount_1"}, {"name_2", "amount_2"}, {"name_3", "amount_3"}, {"name_4", "amount_4"}, {"name_5", "amount_5"},
}

// withholdForm has a name and an amount for each of commerce.MostWithheld.
func withholdForm(v site.Request, st commerce.Statement, typed map[string][]string) *site.Form {
	f := site.NewForm(v.Lang, "withhold", typed)
	for i, field := range withheldFields {
		var name, amount string
		if i < len(st.Withheld) {
			name, amount = st.Withheld[i].Name, v.Lang.Plain(st.Withheld[i].AmountMinor, st.Currency)
		}
		f.Add(site.Field{Name: field.name, Label: v.Lang.T("withhold.name", i+1), Value: name, Max: commerce.MaxWithheldName})
		f.Add(site.Field{Name: field.amount, Label: v.Lang.T("withhold.amount", i+1), Value: amount, Max: 64})
	}
	f.Add(site.Field{Name: "invoice", Value: st.Invoice, Max: commerce.MaxInvoice})
	return f
}

// typedWithholding reads the form. What is wrong fails at its field.
func typedWithholding(f *site.Form, get func(name string) string, st commerce.Statement) commerce.Withholding {
	w := commerce.Withholding{StatementID: st.StatementID, Invoice: strings.TrimSpace(get("invoice"))}
	fields := map[string]string{}
	for _, field := range withheldFields {
		name := strings.TrimSpace(get(field.name))
		if name == "" && strings.TrimSpace(get(field.amount)) == "" {
			continue
		}
		at := "withholdings[" + strconv.Itoa(len(w.List)) + "]"
		fields[at+".name"], fields[at+".amount"] = field.name, field.amount
		w.List = append(w.List, wire.Withheld{Name: name, AmountMinor: f.Money(field.amount, st.Currency)})
	}
	if !f.Failed() {
		f.Refuse(w.Check(st.Currency), fields)
	}
	if !f.Failed() && w.TotalMinor().GreaterThan(st.TotalMinor) {
		f.Fail("amount_1", f.Lang.T("withhold.above", f.Lang.Sum(st.TotalMinor, st.Currency)))
	}
	return w
}

func (s *Pages) showWithhold(w http.ResponseWriter, r *http.Request, v site.Request, status int, st commerce.Statement, f *site.Form,
	net string) {
	v.Here = v.Path(withholdPath, append([]string{"id", st.StatementID}, statementsKept(r.URL.Query())...)...)
	page := withholdPage{Head: v.Head(v.Lang.T("withhold.title"), "statements"), ID: st.StatementID,
		Name: st.Influencer + ", " + v.Lang.T("linked.number", st.NumberText()), Total: v.Lang.Sum(st.TotalMinor, st.Currency),
		Back: statementsBack(r, v), Action: v.Here, Form: f, Net: net, Value: r.PostForm.Get}
	for _, field := range f.Fields {
		page.Typed = append(page.Typed, field.Name)
	}
	var err error
	if page.Versions, err = s.VersionsOf(r.Context(), v.Current.CompanyID, st.StatementID); err != nil {
		s.Unavailable(w, r, err)
		return
	}
	if net != "" { // what is saved is of the version that was shown first
		page.Versions[st.StatementID] = r.PostForm.Get("version")
	}
	s.Render(w, r, status, "withhold.html", page)
}

// withhold enters what is withheld. What was read is shown before it is saved.
func (s *Pages) withhold(w http.ResponseWriter, r *http.Request, v site.Request) {
	st, ok := s.askedStatement(w, r, v)
	if !ok {
		return
	}
	f := withholdForm(v, st, r.PostForm)
	asked := typedWithholding(f, r.PostForm.Get, st)
	step := r.PostForm.Get("step")
	if r.PostForm.Get(site.TypedIn) != v.Lang.Tag {
		step = "" // what was typed means something else in another language
	}
	switch {
	case f.Failed():
		s.showWithhold(w, r, v, http.StatusUnprocessableEntity, st, f, "")
	case r.PostForm.Get("step") == "edit":
		s.showWithhold(w, r, v, http.StatusOK, st, f, "")
	case step != "save":
		sayWithheld(v, f, asked, st)
		s.showWithhold(w, r, v, http.StatusOK, st, f, v.Lang.Sum(st.TotalMinor.Sub(asked.TotalMinor()), st.Currency))
	default:
		err := s.db.Withhold(r.Context(), s.Author(v), asked)
		if errors.Is(err, commerce.ErrAboveTotal) {
			s.payAlert(w, r, v, http.StatusConflict, "above_total")
			return
		}
		s.answerPaid(w, r, v, err, "withheld")
	}
}

// sayWithheld says back all that is entered.
func sayWithheld(v site.Request, f *site.Form, w commerce.Withholding, st commerce.Statement) {
	f.Said = nil
	for i := range w.List {
		f.Said = append(f.Said, site.Said{Label: w.List[i].Name,
			Text: v.Lang.Sum(decimal.NewFromInt(-w.List[i].AmountMinor), st.Currency)})
	}
	if w.Invoice != "" {
		f.Said = append(f.Said, site.Said{Label: v.Lang.T("withhold.invoice"), Text: w.Invoice})
	}
}
