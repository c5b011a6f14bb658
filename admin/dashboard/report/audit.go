package report

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lang"
	"github.com/tributary-io/tributary/internal/uuidtext"
)

const (
	auditPerPage = 100
)

// auditKinds are the beginnings of the actions that can be asked for.
var auditKinds = []string{"influencer.", "campaign.", "coupon.", "cost.", "additional_cost.", "order.", "customer.", "company.", "api_key.",
	"person.", "statement.", "connection.", "webhook.", "network."}

// auditPage is what templates/audit.html shows.
type auditPage struct {
	site.Head
	Kinds []site.Option
	List  []auditRow
	Older string
}

type auditRow struct{ When, Who, What, Subject, Detail string }

func (s *Pages) auditRoutes() []site.Route {
	return []site.Route{
		{Pattern: "GET " + site.AuditPath, Owner: true, Handle: s.auditPage},
		{Pattern: "GET " + site.AuditPath + site.CSVEnding, Owner: true,
			Handle: s.File("audit", []string{"id", "at", "actor", "name", "action", "subject", "detail"}, s.auditFile)},
	}
}

func (s *Pages) auditPage(w http.ResponseWriter, r *http.Request, v site.Request) {
	query := r.URL.Query()
	before, kind := query.Get("before"), query.Get("kind")
	if before != "" && !uuidtext.Is(before) || kind != "" && !slices.Contains(auditKinds, kind) {
		s.ProblemOf(w, r, http.StatusBadRequest, "bad_address")
		return
	}
	list, err := s.db.AuditLog(r.Context(), v.Current.CompanyID, before, kind, auditPerPage+1)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	page := auditPage{Head: v.Head(v.Lang.T("audit.title"), "audit")}
	page.File = v.Path(site.AuditPath+site.CSVEnding, "kind", kind)
	if len(list) > auditPerPage {
		list = list[:auditPerPage]
		page.Older = v.Path(site.AuditPath, "kind", kind, "before", list[len(list)-1].ID)
	}
	page.Kinds = append(page.Kinds, site.Option{Label: v.Lang.T("audit.all"), Chosen: kind == ""})
	for _, k := range auditKinds {
		page.Kinds = append(page.Kinds, site.Option{Value: k, Label: v.Lang.T("audit.kind_" + strings.TrimSuffix(k, ".")), Chosen: k == kind})
	}
	zone := v.Zone()
	for _, e := range list {
		d := details{l: v.Lang, zone: zone, names: e.Names}
		subject := d.subject(e)
		page.List = append(page.List,
			auditRow{When: v.Lang.Instant(e.At.In(zone)), Who: site.ActorWords(v.Lang, e),
				What:    actionWords(v.Lang, e),
				Subject: subject, Detail: d.words(e.Detail, subject)})
	}
	s.Render(w, r, http.StatusOK, "audit.html", page)
}

// actionWords says what was done; of an erasure that was asked for, whether it is done.
func actionWords(l *lang.Printer, e account.AuditEntry) string {
	if e.Done {
		return l.T("audit.action." + e.Action + ".done")
	}
	return site.TextOf(l, "audit.action."+e.Action, e.Action)
}

// detailKinds are the beginnings of the texts of details whose values are words of ours.
var detailKinds = map[string]string{"role": "role.", "by": "audit.subject_", "kinds": "audit.subject_", "environment": "nav.",
	"decision": "audit.decision_", "network": "conversions.network_",
	"type": "keys.type_", "kind": "entry.", "unproven": "settings.unproven_", "self_purchase": "settings.self_purchase_",
	"payout_rule": "settings.rule_", "consent_policy": "settings.consent_", "frequency": "costs.frequency_", "fields": "influencer."}

// dayNames are details that are a moment, of which people type the day.
var dayNames = map[string]bool{"paid_at": true, "commissions_from": true}

// details writes an entry's details.
type details struct {
	l     *lang.Printer
	zone  *time.Location
	names map[string]string
}

// words writes details as "name: value", by name. What a change was from and to is
// written with an arrow. A value that the entry's subject tells already is left out.
func (d details) words(detail, subject string) string {
	var values map[string]any
	if json.Unmarshal([]byte(detail), &values) != nil {
		return ""
	}
	if minor, ok := values["amount_minor"].(float64); ok { // of a ledger's entry
		code, _ := values["currency"].(string)
		values["amount"] = d.l.Money(int64(minor), code)
		delete(values, "amount_minor")
		delete(values, "currency")
	}
	var words []string
	for name, value := range values {
		text := d.value(name, value)
		if change, ok := value.(map[string]any); ok && len(change) == 2 && change["from"] != nil {
			text = d.value(name, change["from"]) + " → " + d.value(name, change["to"])
		}
		if text != "" && text != subject {
			words = append(words, site.TextOf(d.l, "audit.d_"+name, site.TextOf(d.l, "settings."+name,
				site.TextOf(d.l, "conversions."+name, name)))+": "+text)
		}
	}
	slices.Sort(words)
	return strings.Join(words, "; ")
}

func (d details) value(name string, value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case string:
		return d.text(name, value)
	case float64:
		if strings.HasSuffix(name, "_minor") {
			return d.l.Money(int64(value), commerce.BRL)
		}
		return strconv.FormatFloat(value, 'f', -1, 64)
	case bool:
		return d.l.T("audit." + map[bool]string{true: "yes", false: "no"}[value])
	case []any:
		var list []string
		for _, one := range value {
			list = append(list, d.value(name, one))
		}
		if len(list) == 0 {
			return "–"
		}
		return strings.Join(list, ", ")
	case map[string]any:
		var list []string
		for _, key := range slices.Sorted(maps.Keys(value)) {
			list = append(list, site.TextOf(d.l, "settings."+key, site.TextOf(d.l, "audit.d_"+key, key))+" "+d.value(key, value[key]))
		}
		return strings.Join(list, ", ")
	}
	return ""
}

// text writes a value that is a text: a name for an id, a date and a word of ours as the
// language has it, all else as it is.
func (d details) text(name, value string) string {
	if known := d.names[value]; known != "" {
		return known
	}
	if kind := detailKinds[name]; kind != "" && value != "" {
		return site.TextOf(d.l, kind+value, value)
	}
	if name == "var_fee" {
		if percent, err := decimal.NewFromString(value); err == nil {
			return d.l.Number(percent) + "%"
		}
	}
	if at, err := time.Parse(time.RFC3339Nano, value); err == nil {
		if local := at.In(d.zone); dayNames[name] && local.Hour() == 0 && local.Minute() == 0 { // a day was typed
			return d.l.Date(local)
		}
		return d.l.Time(at.In(d.zone))
	}
	if _, err := time.Parse(time.DateOnly, value); err == nil {
		return d.l.Day(value)
	}
	return value
}

// subject is what an entry is about, where that has a name: an id says nothing to people.
func (d details) subject(e account.AuditEntry) string {
	switch {
	case strings.HasPrefix(e.Action, "order."): // an id of the merchant's, which may look like one of ours
		return d.l.T("order.title", e.Subject)
	case d.names[e.Subject] != "":
		return d.names[e.Subject]
	case e.Action == "statement.close":
		return d.text("", e.Subject)
	}
	return ""
}

func (s *Pages) auditFile(ctx context.Context, r *http.Request, v site.Request, f *site.ListFile) error {
	kind, before := r.URL.Query().Get("kind"), ""
	if kind != "" && !slices.Contains(auditKinds, kind) {
		return site.ErrBadAddress
	}
	return f.AddPages(func() (int, error) {
		list, err := s.db.AuditLog(ctx, v.Current.CompanyID, before, kind, site.RowsPerRead)
		for _, e := range list {
			f.Add(e.ID, site.MomentText(e.At), e.Actor, e.Name, e.Action, e.Subject, e.Detail)
			before = e.ID
		}
		return len(list), err
	})
}
