package shops

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
)

// couponPage is what templates/shopcoupon.html shows: the form, or all of what would be made.
type couponPage struct {
	site.Head
	Form                 *site.Form
	ID, Name, Back, Path string
	Currency             string
	Said                 []site.Said
	Warned               []string
	Typed                []site.Said // of the hidden fields, by name
}

func (s *Pages) couponRoutes() []site.Route {
	path := site.ShopsPath + "/coupon"
	return []site.Route{{Pattern: "GET " + path, Owner: true, Handle: s.coupon}, s.ofOne(path, s.makeCoupon)}
}

func shopCouponPath(companyID, id string) string {
	return site.StorePath(site.ShopsPath+"/coupon", companyID, "id", id)
}

// couponFields are the form's fields: the confirmation carries what was typed into them.
var couponFields = []string{"code", "percent", "amount", "max_uses", "ends_on", "one_per_person"}

func couponForm(v site.Request, c commerce.Connection, typed map[string][]string) *site.Form {
	f := site.NewForm(v.Lang, "shops", typed)
	f.Add(site.Field{Name: "code", Required: true, Max: 50})
	f.Add(site.Field{Name: "percent", Max: 20})
	f.Add(site.Field{Name: "amount", Max: 20, Label: v.Lang.T("shops.amount", c.Currency)})
	f.Add(site.Field{Name: "max_uses", Type: "number", Max: 7})
	f.Add(site.Field{Name: "ends_on", Type: "date"})
	f.Add(site.Field{Name: "one_per_person", Type: "check", Value: "yes"})
	return f
}

func (s *Pages) coupon(w http.ResponseWriter, r *http.Request, v site.Request) {
	if c, ok := s.connectionOf(w, r, v, r.URL.Query().Get("id")); ok {
		s.showCoupon(w, r, v, http.StatusOK, c, couponPage{Form: couponForm(v, c, nil)})
	}
}

func (s *Pages) showCoupon(w http.ResponseWriter, r *http.Request, v site.Request, status int, c commerce.Connection, page couponPage) {
	page.Path = shopCouponPath(v.Current.CompanyID, c.ID)
	v.Here = page.Path
	page.Head = v.Head(v.Lang.T("shops.coupon_new"), "shops")
	page.ID, page.Name, page.Back, page.Currency = c.ID, nameOf(v.Lang, c), shopPath(v.Current.CompanyID, c.ID), c.Currency
	var err error
	if page.Versions, err = s.VersionsOf(r.Context(), v.Current.CompanyID, c.ID); err != nil {
		s.Unavailable(w, r, err)
		return
	}
	s.Render(w, r, status, "shopcoupon.html", page)
}

// makeCoupon shows all of the coupon first. Only then it is a task for the service, which writes it to the shop.
func (s *Pages) makeCoupon(w http.ResponseWriter, r *http.Request, v site.Request, c commerce.Connection) {
	f := couponForm(v, c, r.PostForm)
	asked := s.readCoupon(v, c, f, r.PostForm)
	step := r.PostForm.Get("step")
	if f.Failed() || step == "edit" {
		status := http.StatusUnprocessableEntity
		if !f.Failed() {
			f.Alert = v.Lang.T("moves.not_saved")
		}
		s.showCoupon(w, r, v, status, c, couponPage{Form: f})
		return
	}
	if step != "save" || r.PostForm.Get(site.TypedIn) != v.Lang.Tag {
		s.confirmCoupon(w, r, v, c, asked)
		return
	}
	question, err := json.Marshal(asked)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	s.addTask(w, r, v, commerce.ConnectTask{ConnectionID: c.ID, Kind: commerce.TaskCoupon, Question: question})
}

// confirmCoupon shows all that the shop would be asked to make.
func (s *Pages) confirmCoupon(w http.ResponseWriter, r *http.Request, v site.Request, c commerce.Connection, asked commerce.ShopCoupon) {
	page := couponPage{Said: couponSaid(v, c.Currency, asked), Typed: []site.Said{{Label: site.TypedIn, Text: v.Lang.Tag}}}
	known, err := s.db.KnownCodes(r.Context(), v.Current.CompanyID, []string{asked.Code})
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	if !known[asked.Code] {
		page.Warned = append(page.Warned, v.Lang.T("shops.warn_unknown", asked.Code))
	}
	if asked.MaxUses == 0 && asked.EndsAt.IsZero() {
		page.Warned = append(page.Warned, v.Lang.T("shops.warn_endless"))
	}
	for _, name := range couponFields {
		page.Typed = append(page.Typed, site.Said{Label: name, Text: r.PostForm.Get(name)})
	}
	s.showCoupon(w, r, v, http.StatusOK, c, page)
}

// couponNames are the fields of the form, by the paths of violations.
var couponNames = map[string]string{"percent": "percent", "amount": "amount", "max_uses": "max_uses", "code": "code"}

// readCoupon reads the form.
func (s *Pages) readCoupon(v site.Request, c commerce.Connection, f *site.Form, typed url.Values) commerce.ShopCoupon {
	asked := commerce.ShopCoupon{Code: strings.TrimSpace(typed.Get("code")), OnePerPerson: typed.Get("one_per_person") == "yes", Enabled: true}
	if percent := f.Percent("percent"); !percent.IsZero() {
		asked.Percent = percent.String()
	}
	if minor := f.Money("amount", c.Currency); minor != 0 {
		asked.Amount = commerce.FormatMinor(minor, c.Currency)
	}
	if text := strings.TrimSpace(typed.Get("max_uses")); text != "" {
		uses, err := strconv.Atoi(text)
		if asked.MaxUses = uses; err != nil || uses < 1 {
			f.Fail("max_uses", v.Lang.T("form.whole_number"))
		}
	}
	if day := f.Day("ends_on"); day != "" {
		at, err := commerce.ParseDay(day, v.Zone())
		if err != nil || day < s.DayOf(v) {
			f.Fail("ends_on", v.Lang.T("shops.bad_end"))
		} else {
			asked.EndsAt = at.AddDate(0, 0, 1).Add(-time.Second) // the whole day
		}
	}
	if !f.Failed() {
		f.Refuse(asked.Check(), couponNames)
	}
	return asked
}
