package rules

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
)

// rateDigits is how many decimals of events a second are read.
const rateDigits = 6

// settingsPage is what templates/settings.html shows.
type settingsPage struct {
	site.Head
	Form *site.Form
	Name *site.Form // of the store; nil: the person may not change it
	Live string     // the company whose audit log has the store's name
}

func (s *Pages) settingsRoutes() []site.Route {
	return []site.Route{
		{Pattern: "GET " + site.SettingsPath, Handle: s.settingsPage},
		{Pattern: "POST " + site.SettingsPath, Owner: true, Handle: s.saveSettings},
		{Pattern: "POST " + site.SettingsPath + "/name", Owner: true, Handle: s.renameStore},
	}
}

func (s *Pages) settingsPage(w http.ResponseWriter, r *http.Request, v site.Request) {
	company, err := s.db.Company(r.Context(), v.Current.CompanyID)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	f, err := s.settingsForm(r, v, company.Settings, nil)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	s.showSettings(w, r, v, http.StatusOK, settingsPage{Form: f})
}

// storeNameForm has the name of the store.
func storeNameForm(v site.Request, typed map[string][]string) *site.Form {
	f := site.NewForm(v.Lang, "settings", typed)
	f.IDs = "n-"
	f.Add(site.Field{Name: "store_name", Value: v.Current.Name, Required: true, Max: commerce.MaxName})
	return f
}

// renameStore changes the store's own name, which is that of both of its companies.
func (s *Pages) renameStore(w http.ResponseWriter, r *http.Request, v site.Request) {
	f := storeNameForm(v, r.PostForm)
	name := strings.TrimSpace(r.PostForm.Get("store_name"))
	f.Refuse(commerce.CheckStoreName(name), map[string]string{"name": "store_name"})
	if f.Failed() {
		company, err := s.db.Company(r.Context(), v.Current.CompanyID)
		var settings *site.Form
		if err == nil {
			settings, err = s.settingsForm(r, v, company.Settings, nil)
		}
		if err != nil {
			s.Unavailable(w, r, err)
			return
		}
		s.showSettings(w, r, v, f.Status(), settingsPage{Form: settings, Name: f})
		return
	}
	author := s.Author(v)
	author.CompanyID = v.LiveCompany()
	if err := s.db.RenameStore(r.Context(), author, name); err != nil {
		s.Unavailable(w, r, err)
		return
	}
	site.Done(w, r, v.Path(site.SettingsPath), "store_renamed")
}

func (s *Pages) showSettings(w http.ResponseWriter, r *http.Request, v site.Request, status int, page settingsPage) {
	v.Here = v.Path(site.SettingsPath)
	page.Head, page.Live = v.Head(v.Lang.T("settings.title"), "settings"), v.LiveCompany()
	if page.Name == nil && v.MayChange() && !v.IsArchived(page.Live) {
		page.Name = storeNameForm(v, nil)
	}
	versions, err := s.VersionsOf(r.Context(), v.Current.CompanyID, v.Current.CompanyID)
	if err == nil && page.Live != v.Current.CompanyID {
		var live map[string]string
		live, err = s.VersionsOf(r.Context(), page.Live, page.Live)
		versions[page.Live] = live[page.Live]
	}
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	page.Versions = versions
	s.Render(w, r, status, "settings.html", page)
}

// settingsForm is every setting, by group. Names of fields are those of
// commerce's violations.
func (s *Pages) settingsForm(r *http.Request, v site.Request, now commerce.Settings, typed map[string][]string) (*site.Form, error) {
	ordered, err := s.db.HasOrders(r.Context(), v.Current.CompanyID)
	if err != nil {
		return nil, err
	}
	reader := !v.MayChange()
	f, group := site.NewForm(v.Lang, "settings", typed), ""
	add := func(x site.Field) {
		x.Disabled, x.Group, group = x.Disabled || reader, group, ""
		f.Add(x)
	}
	group = v.Lang.T("settings.group_pages")
	add(site.Field{Name: "origins", Type: "textarea", Value: strings.Join(now.Origins, "\n")})
	add(site.Field{Name: "hosts", Type: "textarea", Value: strings.Join(now.Hosts, "\n")})
	add(site.Field{Name: "passing_hosts", Type: "textarea", Value: strings.Join(now.PassingHosts, "\n")})
	add(site.Field{Name: "consent_policy", Type: "select", Value: now.ConsentPolicy,
		Options: f.Options("consent", commerce.ConsentPolicies...)})
	group = v.Lang.T("settings.group_payout")
	add(site.Field{Name: "payout_rule", Type: "select", Value: now.PayoutRule, Options: f.Options("rule", commerce.PayoutRules...)})
	add(site.Field{Name: "unproven", Type: "select", Value: now.Unproven, Options: f.Options("unproven", commerce.UnprovenRules...)})
	add(site.Field{Name: "self_purchase", Type: "select", Value: now.SelfPurchase,
		Options: f.Options("self_purchase", commerce.SelfPurchaseRules...)})
	add(site.Field{Name: "window_days", Type: "number", Required: true, Value: strconv.Itoa(now.WindowDays)})
	add(site.Field{Name: "hold_days", Type: "number", Required: true, Value: strconv.Itoa(now.HoldDays)})
	add(site.Field{Name: "delivered_hold_days", Type: "number", Required: true, Value: strconv.Itoa(now.DeliveredHoldDays)})
	add(site.Field{Name: "minimum_payout", Required: true, Value: minimumText(v, now)})
	add(site.Field{Name: "pay_recurring", Type: "check", Value: yes(now.PayRecurring)})
	add(site.Field{Name: "commission_without_tax", Type: "check", Value: yes(now.WithoutTax)})
	add(site.Field{Name: "confirm_decisions", Type: "check", Value: yes(now.ConfirmDecisions), Disabled: now.ConfirmDecisions})
	group = v.Lang.T("settings.group_models")
	add(site.Field{Name: "half_life_days", Type: "number", Required: true, Value: strconv.Itoa(now.HalfLifeDays)})
	add(site.Field{Name: "count_direct", Type: "check", Value: yes(now.CountDirect)})
	group = v.Lang.T("settings.group_store")
	add(site.Field{Name: "legal_name", Value: now.LegalName, Max: commerce.MaxName})
	add(site.Field{Name: "tax_id", Value: commerce.ShownDocument(now.TaxID), Max: 40})
	add(site.Field{Name: "timezone", Required: true, Value: now.Timezone, Disabled: ordered})
	add(site.Field{Name: "currency", Required: true, Value: now.Currency, Max: 3, Disabled: ordered})
	add(site.Field{Name: "country", Required: true, Value: now.Country, Max: 2, Disabled: ordered})
	group = v.Lang.T("settings.group_data")
	add(site.Field{Name: "retention_days", Type: "number", Required: true, Value: strconv.Itoa(now.RetentionDays)})
	group = v.Lang.T("settings.group_limits")
	add(site.Field{Name: "events_per_second", Required: true,
		Value: v.Lang.Number(decimal.NewFromFloat(now.Limits.EventsPerSecond))})
	add(site.Field{Name: "burst", Type: "number", Required: true, Value: strconv.Itoa(now.Limits.Burst)})
	return f, nil
}

// minimumText writes the minimum payout as people type it.
func minimumText(v site.Request, now commerce.Settings) string {
	minor, err := commerce.ParseMinor(now.MinimumPayout, now.Currency)
	if err != nil { // it has more decimals than its currency, or none was stored
		return now.MinimumPayout
	}
	return v.Lang.Plain(minor, now.Currency)
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return ""
}

// typedList reads a list of one a line, or separated by commas.
func typedList(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' || r == ',' || r == ' ' || r == '\t' })
}

// typedLinks reads addresses of pages as people type them: without a scheme too.
func typedLinks(text string) []string {
	list := typedList(text)
	for i, link := range list {
		list[i] = site.WithScheme(link)
	}
	return list
}

// typedOrigins reads addresses of shops as people type them (site.ShopOrigin). "null" stays.
func typedOrigins(text string) []string {
	list := typedList(text)
	for i, origin := range list {
		if origin != wire.NoOrigin {
			list[i], _ = site.ShopOrigin(origin)
		}
	}
	return list
}

func (s *Pages) saveSettings(w http.ResponseWriter, r *http.Request, v site.Request) {
	company, err := s.db.Company(r.Context(), v.Current.CompanyID)
	var f *site.Form
	if err == nil {
		f, err = s.settingsForm(r, v, company.Settings, r.PostForm)
	}
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	typed := s.typedSettings(v, f, r.PostForm.Get)
	if !f.Failed() {
		var answered bool
		answered, err = s.save(w, r, v, f, v.Path(site.SettingsPath), func(ctx context.Context) error {
			_, _, err := s.db.ChangeSettings(ctx, commerce.SettingsChange{CompanyID: v.Current.CompanyID, Actor: v.Actor(), Change: typed})
			return err
		})
		if answered {
			return
		}
		var refused *commerce.SettingsError
		if errors.As(err, &refused) {
			f.Refuse(refused.Bad, nil)
			err = nil
		}
		if s.staleSettings(r, v, f, err) {
			err = nil
		}
		if err != nil {
			s.Unavailable(w, r, err)
			return
		}
	}
	if f.Failed() {
		s.showSettings(w, r, v, f.Status(), settingsPage{Form: f})
		return
	}
	site.Done(w, r, v.Path(site.SettingsPath), "settings_saved")
}

// staleSettings reports whether somebody changed the settings meanwhile: the form shows both.
func (s *Pages) staleSettings(r *http.Request, v site.Request, f *site.Form, err error) bool {
	if _, stale := s.StaleWords(r, err); !stale {
		return false
	}
	company, failed := s.db.Company(r.Context(), v.Current.CompanyID)
	if failed != nil {
		return false
	}
	f.Stored, failed = s.settingsForm(r, v, company.Settings, nil)
	return failed == nil && s.Stale(r, f, err)
}

// typedSettings reads the form, and returns the change. What cannot be read fails
// at its field. Fields that are fixed are not sent by browsers, and stay.
func (s *Pages) typedSettings(v site.Request, f *site.Form, get func(name string) string) func(*commerce.Settings) {
	whole := func(name string) int {
		n, err := strconv.Atoi(strings.TrimSpace(get(name)))
		if err != nil {
			f.Fail(name, v.Lang.T("form.whole_number"))
		}
		return n
	}
	word := func(name string, allowed []string) string {
		if !slices.Contains(allowed, get(name)) {
			f.Fail(name, v.Lang.T("form.choose"))
		}
		return get(name)
	}
	currency := strings.TrimSpace(get("currency"))
	if _, err := commerce.Exponent(currency); err != nil { // it is fixed, or it is refused
		currency = v.Current.Currency
	}
	given := commerce.Settings{
		Origins: typedOrigins(get("origins")), Hosts: typedList(get("hosts")), PassingHosts: typedList(get("passing_hosts")),
		ConsentPolicy: word("consent_policy", commerce.ConsentPolicies), PayoutRule: word("payout_rule", commerce.PayoutRules),
		Unproven: word("unproven", commerce.UnprovenRules), SelfPurchase: word("self_purchase", commerce.SelfPurchaseRules),
		WindowDays: whole("window_days"), HoldDays: whole("hold_days"),
		DeliveredHoldDays: whole("delivered_hold_days"),
		HalfLifeDays:      whole("half_life_days"), MinimumPayout: commerce.FormatMinor(f.Money("minimum_payout", currency), currency),
		PayRecurring: get("pay_recurring") == "yes", WithoutTax: get("commission_without_tax") == "yes",
		CountDirect: get("count_direct") == "yes",
		Country:     strings.TrimSpace(get("country")), Timezone: strings.TrimSpace(get("timezone")),
		Currency: strings.TrimSpace(get("currency")),
	}
	given.Limits.EventsPerSecond, given.Limits.Burst = f.Number("events_per_second", rateDigits).InexactFloat64(), whole("burst")
	given.RetentionDays = whole("retention_days")
	given.ConfirmDecisions = get("confirm_decisions") == "yes"
	given.LegalName, given.TaxID = get("legal_name"), get("tax_id")
	return func(now *commerce.Settings) {
		after := given
		if given.Country == "" {
			after.Country = now.Country
		}
		if given.Timezone == "" {
			after.Timezone = now.Timezone
		}
		if given.Currency == "" {
			after.Currency = now.Currency
		}
		after.ConfirmDecisions = given.ConfirmDecisions || now.ConfirmDecisions // two people turn it off, elsewhere
		*now = after
	}
}
