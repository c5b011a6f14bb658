package rules

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"slices"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/lang"
	"github.com/tributary-io/tributary/internal/preview"
)

const (
	// mostMoves and mostSums bound what the page lists.
	mostMoves = 100
	mostSums  = 200
)

// Values of the field "step" of a form that is sent from the page of its preview.
const (
	stepSave = "save" // it was looked at
	stepEdit = "edit" // back to the form, with what was typed
)

// movesPage is what templates/moves.html shows: what a form would move if it were saved.
type movesPage struct {
	site.Head
	Action string      // where the form goes
	Typed  []typed     // what was typed
	Edits  bool        // there is a form to go back to
	Back   string      // path of the page to which a person goes who does not save
	Said   []site.Said // the amounts as they were read
	Warned []string    // what is probably not meant
	Known  bool        // what would move was computed
	Still  bool        // it is known, and nothing would move
	Failed bool        // it could not be computed now
	Cut    string      // why not all of it was computed; may be empty
	Tiles  []site.Tile // of the orders
	Sums   []moveSum   // by influencer, state and currency
	Moves  []moveLine  // by order
	Hidden string      // how many orders are not listed
	Credit []moveModel // of the channel models
}

type typed struct{ Name, Value string }

type moveSum struct {
	Influencer, State, StateIs string
	Before, After, Difference  string
	Less                       bool
}

type moveLine struct {
	Name, Href, When     string
	From, To, Difference string
	FromIs, ToIs         string // more about it: the state, and why nothing is owed
	Less                 bool
}

type moveModel struct {
	Name string
	Sums []moveCredit
}

type moveCredit struct {
	Who, Difference string
	Less            bool
}

// save makes the change that a form asks for. Where orders or commission would move, or
// the form has an amount of money or a warning, it first shows which, and the person saves from there.
// It reports whether the request is answered; if not, the change is made, or err says why
// not. f may be nil; back is where a person goes who does not save.
func (s *Pages) save(w http.ResponseWriter, r *http.Request, v site.Request, f *site.Form, back string,
	change preview.Change) (answered bool, err error) {
	if step := stepOf(r, v); step == stepSave {
		return false, change(r.Context())
	} else if step == stepEdit && f != nil {
		f.Alert = v.Lang.T("moves.not_saved")
		return false, nil
	}
	page := movesPage{Edits: f != nil, Back: back}
	if f != nil {
		page.Said, page.Warned = f.Said, f.Warned
	}
	if s.previews != nil {
		answer, err := site.Preview(r.Context(), s.previews, v.Current.CompanyID, change)
		switch {
		case errors.Is(err, site.ErrNoPreview):
			s.Log.Warn("dashboard: a change could not be previewed", "company", v.Current.CompanyID, "error", err)
			page.Failed = true
		case err != nil:
			return false, err
		default:
			page.fill(v, answer)
		}
	}
	if !page.Failed && (!page.Known || page.Still) && len(page.Said)+len(page.Warned) == 0 {
		return false, change(r.Context())
	}
	s.showMoves(w, r, v, page)
	return true, nil
}

// sayBack shows the amounts that were read of a form which moves no order, before they are
// saved. It reports whether the request is answered; f fails where the person goes back to it.
func (s *Pages) sayBack(w http.ResponseWriter, r *http.Request, v site.Request, f *site.Form, back string) (answered bool) {
	switch stepOf(r, v) {
	case stepSave:
		return false
	case stepEdit:
		f.Alert = v.Lang.T("moves.not_saved")
		return false
	}
	s.showMoves(w, r, v, movesPage{Edits: true, Back: back, Said: f.Said})
	return true
}

// stepOf is the step of a form. What was looked at in another language is looked at again.
func stepOf(r *http.Request, v site.Request) string {
	step := r.PostForm.Get("step")
	if in := r.PostForm.Get(site.TypedIn); step == stepSave && in != "" && in != v.Lang.Tag {
		return ""
	}
	return step
}

// showMoves shows what a change would move, and the amounts that were read.
func (s *Pages) showMoves(w http.ResponseWriter, r *http.Request, v site.Request, page movesPage) {
	v.Here = page.Back
	title := "moves.title"
	switch still := page.Still || !page.Known; {
	case len(page.Warned) > 0:
		title = "warn.title"
	case still && len(page.Said) > 0:
		title = "moves.typed"
	}
	page.Head, page.Action = v.Head(v.Lang.T(title), ""), r.URL.RequestURI()
	for _, name := range slices.Sorted(maps.Keys(r.PostForm)) {
		if name == "step" || name == "page" || name == site.TypedIn {
			continue
		}
		for _, value := range r.PostForm[name] {
			page.Typed = append(page.Typed, typed{name, value})
		}
	}
	page.Typed = append(page.Typed, typed{site.TypedIn, v.Lang.Tag})
	s.Render(w, r, http.StatusOK, "moves.html", page)
}

func (p *movesPage) fill(v site.Request, a *preview.Answer) {
	l := v.Lang
	p.Known = true
	if p.Still = a.Orders.Moved == 0 && a.Orders.Credited == 0 && a.Cut == ""; p.Still {
		return
	}
	if a.Cut != "" {
		p.Cut = l.T("moves.cut_"+a.Cut, l.Count(int64(a.Orders.Computed)), l.Count(int64(a.Orders.Concerned)), l.Count(int64(a.Orders.LeftOut)))
		if a.Orders.More {
			p.Cut = l.T("moves.cut_more", l.Count(int64(a.Orders.Computed)), l.Count(int64(a.Orders.Concerned)))
		}
	}
	for _, t := range []struct {
		id string
		n  int
	}{{"computed", a.Orders.Computed}, {"moved", a.Orders.Moved}, {"credited", a.Orders.Credited}} {
		p.Tiles = append(p.Tiles, site.Tile{ID: "moves-" + t.id, Label: l.T("moves." + t.id), Lines: []string{l.Count(int64(t.n))}})
	}
	names := map[string]string{}
	for _, t := range a.Totals {
		names[t.InfluencerID] = t.Influencer
		state, class := site.StateWords(l, t.State, true)
		if len(p.Sums) < mostSums {
			p.Sums = append(p.Sums, moveSum{Influencer: t.Influencer, State: state, StateIs: class, Before: l.Sum(t.Before.Minor, t.Currency),
				After: l.Sum(t.After.Minor, t.Currency), Difference: signed(l, t.Amount), Less: t.Amount.Minor.IsNegative()})
		}
	}
	for _, m := range a.Moves[:min(len(a.Moves), mostMoves)] {
		line := moveLine{Name: m.OrderID, Href: site.OrderPath(v.Current.CompanyID, m.OrderID),
			When:       l.Date(m.CreatedAt.In(v.Zone())),
			Difference: signed(l, m.Amount), Less: m.Amount.Minor.IsNegative()}
		line.From, line.FromIs = site.ShareWords(l, m.From)
		line.To, line.ToIs = site.ShareWords(l, m.To)
		p.Moves = append(p.Moves, line)
	}
	if extra := a.Orders.Moved - len(p.Moves); extra > 0 && len(p.Moves) == mostMoves {
		p.Hidden = l.N("moves.hidden", int64(extra))
	}
	p.credit(l, a.Credit, names)
}

// credit sums what changes of the channel models.
func (p *movesPage) credit(l *lang.Printer, list []preview.Moved, names map[string]string) {
	place := map[string]int{}
	for i, model := range facts.Models {
		place[model] = i
	}
	list = slices.Clone(list[:min(len(list), mostSums)])
	slices.SortStableFunc(list, func(x, y preview.Moved) int { return cmp.Compare(place[x.Model], place[y.Model]) })
	for _, c := range list {
		name := l.T("model." + c.Model)
		if n := len(p.Credit); n == 0 || p.Credit[n-1].Name != name {
			p.Credit = append(p.Credit, moveModel{Name: name})
		}
		who := site.ChannelWords(l, c.Channel)
		if names[c.InfluencerID] != "" {
			who = names[c.InfluencerID]
		}
		of := &p.Credit[len(p.Credit)-1]
		of.Sums = append(of.Sums, moveCredit{who, signed(l, c.Amount), c.Amount.Minor.IsNegative()})
	}
}

// signed writes a difference with its sign: "+R$ 4.50".
func signed(l *lang.Printer, s commerce.Sum) string {
	text := l.Sum(s.Minor.Abs(), s.Currency)
	switch {
	case s.Minor.IsPositive():
		return "+" + text
	case s.Minor.IsNegative():
		return "−" + text
	}
	return text
}
