package shops

import (
	"cmp"
	"net/http"
	"regexp"
	"strings"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lang"
)

// listPage is what templates/shops.html shows.
type listPage struct {
	site.Head
	Runs    bool
	List    []shopRow
	Connect string // path of the page that connects a shop; empty: the reader may not
}

// shopRow is a connection as one line of the list.
type shopRow struct {
	Name, Platform, Href    string
	State, StateIs, Why     string
	Since, LastOrder, Aside string
}

func (s *Pages) listRoutes() []site.Route {
	return []site.Route{{Pattern: "GET " + site.ShopsPath, Handle: s.list}}
}

func (s *Pages) list(w http.ResponseWriter, r *http.Request, v site.Request) {
	offer, err := s.db.ConnectOffer(r.Context())
	var list []commerce.Connection
	if err == nil {
		list, err = s.db.Connections(r.Context(), v.Current.CompanyID)
	}
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	page := listPage{Head: v.Head(v.Lang.T("shops.title"), "shops"), Runs: s.runs(offer)}
	if v.MayChange() {
		page.Connect = v.Path(site.ConnectPath)
	}
	for _, c := range list {
		if c.State != commerce.ConnectionEnded || c.Shop != "" { // of a shop that was never tested nothing is told once it has ended
			page.List = append(page.List, s.viewRow(v, offer, c))
		}
	}
	s.Render(w, r, http.StatusOK, "shops.html", page)
}

func (s *Pages) viewRow(v site.Request, offer commerce.ConnectOffer, c commerce.Connection) shopRow {
	l, zone := v.Lang, v.Zone()
	row := shopRow{Name: nameOf(l, c), Platform: titleOf(offer, c.Platform), Href: shopPath(c.CompanyID, c.ID),
		Since: l.T("shops.since", l.Time(c.Since.In(zone))), LastOrder: "–", Aside: "–"}
	row.State, row.StateIs = stateWords(l, c.State)
	if c.State == commerce.ConnectionFailing || c.State == commerce.ConnectionEnded {
		row.Why, _ = reasonWords(l, c.Reason)
	}
	if !c.LastOrderAt.IsZero() {
		row.LastOrder = l.Time(c.LastOrderAt.In(zone))
	}
	if c.AsideCount > 0 {
		row.Aside = l.Count(c.AsideCount)
	}
	return row
}

// failing is site.Site.Failing: it leads to the connections that fail for some time.
func (s *Pages) failing(r *http.Request, v site.Request) (links []site.Link, err error) {
	list, err := s.db.Connections(r.Context(), v.Current.CompanyID)
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		if c.State == commerce.ConnectionFailing && s.Now().Sub(c.Since) >= failingFor {
			why, _ := reasonWords(v.Lang, c.Reason)
			links = append(links, site.Link{Name: v.Lang.T("shops.alert", nameOf(v.Lang, c), why), Path: shopPath(c.CompanyID, c.ID)})
		}
	}
	return links, nil
}

// shopPath is the address of a connection's page, with more parameters as of site.StorePath.
func shopPath(companyID, id string, more ...string) string {
	return site.StorePath(site.ShopPath, companyID, append([]string{"id", id}, more...)...)
}

// nameOf is how a shop is called: by its platform's name for it, else by the platform's id.
func nameOf(l *lang.Printer, c commerce.Connection) string {
	return cmp.Or(c.ShopName, c.Shop, l.T("shops.no_name"))
}

// stateWords is what a connection does, and the class by which it is shown.
func stateWords(l *lang.Printer, state commerce.ConnectionState) (text, class string) {
	switch state {
	case commerce.ConnectionLive:
		class = "approved"
	case commerce.ConnectionFailing:
		class = "cancelled"
	case commerce.ConnectionEnded:
		class = "over"
	default:
		class = "pending"
	}
	return site.TextOf(l, "shops.state_"+string(state), string(state)), class
}

// reasonWords says why a shop's server was not read, and what mends it.
func reasonWords(l *lang.Printer, reason string) (why, mend string) {
	return site.TextOf(l, "shops.reason_"+reason, reason), site.TextOf(l, "shops.mend_"+reason, "")
}

var inDetail = regexp.MustCompile(`[A-Za-z0-9]+`)

// wordsOfDetail is how many words of a detail name its text.
const wordsOfDetail = 4

// detailWords is a detail of the service in the page's language where the texts have it; else, as a status or a field's name, as it is.
func detailWords(l *lang.Printer, detail string) string {
	return site.TextOf(l, "shops.detail_"+DetailKey(detail), detail)
}

// DetailKey names the text of a detail that the service writes: its first words.
func DetailKey(detail string) string {
	return strings.ToLower(strings.Join(inDetail.FindAllString(detail, wordsOfDetail), "_"))
}
