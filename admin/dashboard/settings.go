package dashboard

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tributary-io/tributary/internal/commerce"
)

// settingsPage is what templates/settings.html shows.
type settingsPage struct {
	head
	Form *form
}

func (s *rulePages) settingsRoutes() []route {
	return []route{
		{pattern: "GET " + settingsPath, handle: s.settingsPage},
		{pattern: "POST " + settingsPath, owner: true, handle: s.saveSettings},
	}
}

func (s *rulePages) settingsPage(w http.ResponseWriter, r *http.Request, v pageRequest) {
	company, err := s.db.Company(r.Context(), v.current.CompanyID)
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	f, err := s.settingsForm(r, v, company.Settings, nil)
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	s.showSettings(w, r, v, http.StatusOK, f)
}

func (s *rulePages) showSettings(w http.ResponseWriter, r *http.Request, v pageRequest, status int, f *form) {
	v.here = storePath(settingsPath, v.current.CompanyID)
	s.render(w, r, status, "settings.html", settingsPage{head: v.head(v.lang.T("settings.title"), "settings"), Form: f})
}

// settingsForm is every setting, by group. Names of fields are those of
// commerce's violations.
func (s *rulePages) settingsForm(r *http.Request, v pageRequest, now commerce.Settings, typed map[string][]string) (*form, error) {
	ordered, err := s.db.HasOrders(r.Context(), v.current.CompanyID)
	if err != nil {
		return nil, err
	}
	reader := !v.mayChange()
	f, group := newForm(v.lang, "settings", typed), ""
	add := func(x field) {
		x.Disabled, x.Group, group = x.Disabled || reader, group, ""
		f.add(x)
	}
	group = v.lang.T("settings.group_pages")
	add(field{Name: "origins", Type: "textarea", Value: strings.Join(now.Origins, "\n")})
	add(field{Name: "hosts", Type: "textarea", Value: strings.Join(now.Hosts, "\n")})
	add(field{Name: "passing_hosts", Type: "textarea", Value: strings.Join(now.PassingHosts, "\n")})
	add(field{Name: "consent_policy", Type: "select", Value: now.ConsentPolicy, Options: f.options("consent", commerce.ConsentPolicies...)})
	group = v.lang.T("settings.group_payout")
	add(field{Name: "payout_rule", Type: "select", Value: now.PayoutRule, Options: f.options("rule", commerce.PayoutRules...)})
	add(field{Name: "unproven", Type: "select", Value: now.Unproven, Options: f.options("unproven", commerce.UnprovenRules...)})
	add(field{Name: "window_days", Type: "number", Required: true, Value: strconv.Itoa(now.WindowDays)})
	add(field{Name: "hold_days", Type: "number", Required: true, Value: strconv.Itoa(now.HoldDays)})
	add(field{Name: "minimum_payout", Required: true, Value: s.localNumber(v, now.MinimumPayout)})
	add(field{Name: "pay_recurring", Type: "check", Value: yes(now.PayRecurring)})
	add(field{Name: "commission_without_tax", Type: "check", Value: yes(now.WithoutTax)})
	group = v.lang.T("settings.group_models")
	add(field{Name: "half_life_days", Type: "number", Required: true, Value: strconv.Itoa(now.HalfLifeDays)})
	add(field{Name: "count_direct", Type: "check", Value: yes(now.CountDirect)})
	group = v.lang.T("settings.group_store")
	add(field{Name: "timezone", Required: true, Value: now.Timezone, Disabled: ordered})
	add(field{Name: "currency", Required: true, Value: now.Currency, Max: 3, Disabled: ordered})
	add(field{Name: "country", Required: true, Value: now.Country, Max: 2, Disabled: ordered})
	group = v.lang.T("settings.group_data")
	add(field{Name: "retention_days", Type: "number", Required: true, Value: strconv.Itoa(now.RetentionDays)})
	group = v.lang.T("settings.group_limits")
	add(field{Name: "events_per_second", Required: true,
		Value: s.localNumber(v, strconv.FormatFloat(now.Limits.EventsPerSecond, 'f', -1, 64))})
	add(field{Name: "burst", Type: "number", Required: true, Value: strconv.Itoa(now.Limits.Burst)})
	return f, nil
}

// localNumber writes a decimal as people type it in the language of the page.
func (s *rulePages) localNumber(v pageRequest, text string) string {
	return strings.ReplaceAll(text, ".", v.lang.T("number.decimal"))
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

func (s *rulePages) saveSettings(w http.ResponseWriter, r *http.Request, v pageRequest) {
	f, err := s.settingsForm(r, v, commerce.Settings{}, r.PostForm)
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	typed := s.typedSettings(v, f, r.PostForm.Get)
	if !f.Failed() {
		var answered bool
		answered, err = s.save(w, r, v, f, storePath(settingsPath, v.current.CompanyID), func(ctx context.Context) error {
			_, _, err := s.db.ChangeSettings(ctx, commerce.SettingsChange{CompanyID: v.current.CompanyID, Actor: v.actor(), Change: typed})
			return err
		})
		if answered {
			return
		}
		var refused *commerce.SettingsError
		if errors.As(err, &refused) {
			f.refuse(refused.Bad, nil)
			err = nil
		}
		if err != nil {
			s.unavailable(w, r, err)
			return
		}
	}
	if f.Failed() {
		s.showSettings(w, r, v, http.StatusUnprocessableEntity, f)
		return
	}
	done(w, r, storePath(settingsPath, v.current.CompanyID), "settings_saved")
}

// typedSettings reads the form, and returns the change. What cannot be read fails
// at its field. Fields that are fixed are not sent by browsers, and stay.
func (s *rulePages) typedSettings(v pageRequest, f *form, get func(name string) string) func(*commerce.Settings) {
	whole := func(name string) int {
		n, err := strconv.Atoi(strings.TrimSpace(get(name)))
		if err != nil {
			f.fail(name, v.lang.T("form.whole_number"))
		}
		return n
	}
	word := func(name string, allowed []string) string {
		if !slices.Contains(allowed, get(name)) {
			f.fail(name, v.lang.T("form.choose"))
		}
		return get(name)
	}
	perSecond, err := strconv.ParseFloat(commerce.TypedDecimal(get("events_per_second")), 64)
	if err != nil {
		f.fail("events_per_second", v.lang.T("form.number"))
	}
	given := commerce.Settings{
		Origins: typedList(get("origins")), Hosts: typedList(get("hosts")), PassingHosts: typedList(get("passing_hosts")),
		ConsentPolicy: word("consent_policy", commerce.ConsentPolicies), PayoutRule: word("payout_rule", commerce.PayoutRules),
		Unproven: word("unproven", commerce.UnprovenRules), WindowDays: whole("window_days"), HoldDays: whole("hold_days"),
		HalfLifeDays: whole("half_life_days"), MinimumPayout: commerce.TypedDecimal(get("minimum_payout")),
		PayRecurring: get("pay_recurring") == "yes", WithoutTax: get("commission_without_tax") == "yes",
		CountDirect: get("count_direct") == "yes",
		Country:     strings.TrimSpace(get("country")), Timezone: strings.TrimSpace(get("timezone")),
		Currency: strings.TrimSpace(get("currency")),
	}
	given.Limits.EventsPerSecond, given.Limits.Burst = perSecond, whole("burst")
	given.RetentionDays = whole("retention_days")
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
		*now = after
	}
}
