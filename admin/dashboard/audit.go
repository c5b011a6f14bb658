package dashboard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tributary-io/tributary/admin/dashboard/lang"
	"github.com/tributary-io/tributary/internal/commerce"
)

const (
	auditPath    = "/dashboard/audit"
	auditPerPage = 100
)

// auditKinds are the beginnings of the actions that can be asked for.
var auditKinds = []string{"influencer.", "campaign.", "coupon.", "cost.", "additional_cost.", "order.", "company.", "api_key.", "person.", "statement."}

// auditPage is what templates/audit.html shows.
type auditPage struct {
	head
	Kinds []option
	List  []auditRow
	Older string
}

type auditRow struct{ When, Who, What, Subject, Detail string }

func (s *Server) auditRoutes() []route {
	return []route{{pattern: "GET " + auditPath, owner: true, handle: s.auditPage}}
}

func (s *Server) auditPage(w http.ResponseWriter, r *http.Request, v pageRequest) {
	query := r.URL.Query()
	before, kind := query.Get("before"), query.Get("kind")
	if before != "" && !commerce.IsUUID(before) || kind != "" && !slices.Contains(auditKinds, kind) {
		s.problemOf(w, r, http.StatusBadRequest, "bad_address")
		return
	}
	list, err := s.db.AuditLog(r.Context(), v.current.CompanyID, before, kind, auditPerPage+1)
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	page := auditPage{head: v.head(v.lang.T("audit.title"), "audit")}
	page.File = storePath(auditPath+csvEnding, v.current.CompanyID, "kind", kind)
	if len(list) > auditPerPage {
		list = list[:auditPerPage]
		page.Older = storePath(auditPath, v.current.CompanyID, "kind", kind, "before", list[len(list)-1].ID)
	}
	page.Kinds = append(page.Kinds, option{Label: v.lang.T("audit.all"), Chosen: kind == ""})
	for _, k := range auditKinds {
		page.Kinds = append(page.Kinds, option{Value: k, Label: v.lang.T("audit.kind_" + strings.TrimSuffix(k, ".")), Chosen: k == kind})
	}
	zone := zoneOf(v.current.Timezone)
	for _, e := range list {
		page.List = append(page.List, auditRow{When: v.lang.Instant(e.At.In(zone)), Who: actorWords(v.lang, e), What: textOf(v.lang, "audit.action."+e.Action, e.Action),
			Subject: e.Subject, Detail: detailWords(e.Detail)})
	}
	s.render(w, r, http.StatusOK, "audit.html", page)
}

// actorWords says who changed something.
func actorWords(l *lang.Printer, e commerce.AuditEntry) string {
	kind, _, _ := strings.Cut(e.Actor, "/")
	switch {
	case kind == "key" && e.Name != "":
		return l.T("audit.by_key", e.Name)
	case e.Name != "":
		return e.Name
	case kind == "cli":
		return l.T("audit.by_cli")
	}
	return e.Actor
}

// detailWords writes an entry's details as "name: value", by name. What a change
// was from and to is written with an arrow.
func detailWords(detail string) string {
	var values map[string]any
	if json.Unmarshal([]byte(detail), &values) != nil {
		return ""
	}
	var words []string
	for name, value := range values {
		text := detailValue(value)
		if change, ok := value.(map[string]any); ok && len(change) == 2 && change["from"] != nil {
			text = detailValue(change["from"]) + " → " + detailValue(change["to"])
		}
		if text != "" {
			words = append(words, name+": "+text)
		}
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

func detailValue(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case string:
		return value
	case float64:
		return fmt.Sprint(value)
	case bool:
		return fmt.Sprint(value)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}
