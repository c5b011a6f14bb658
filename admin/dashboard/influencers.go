package dashboard

import (
	"net/http"
	"strings"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/lang"
	"github.com/tributary-io/tributary/internal/commerce"
)

// influencersPerPage bounds a page of influencers.
const influencersPerPage = 50

// influencersPage is what templates/influencers.html shows.
type influencersPage struct {
	head
	List  []influencerCard
	More  string // path of the next page
	First string // path back to the first page
	// For the empty state's example.
	APIPath, StartDate string
}

type influencerCard struct {
	Name, Category string
	Links          []linkLine
	Coupons        []couponLine
	Costs          []agreementLine
}

type linkLine struct {
	Short       string // as people share it; the code alone where the short host is not known
	Copy        string // with https://; empty where it is not known
	Destination string
	Campaign    string
}

type couponLine struct {
	Code, Period, Campaign string
	State                  string // active | ahead | over: also a class
	StateText              string
}

type agreementLine struct{ Formula, For, Period string }

func (s *Server) influencerRoutes() []route {
	return []route{{pattern: "GET /dashboard/influencers", handle: s.influencers}}
}

func (s *Server) influencers(w http.ResponseWriter, r *http.Request, v pageRequest) {
	after, err := commerce.ParseInfluencerCursor(r.URL.Query().Get("after"))
	if err != nil {
		s.problemOf(w, r, http.StatusBadRequest, "bad_address")
		return
	}
	list, err := s.db.Influencers(r.Context(), v.current.CompanyID, after, influencersPerPage+1)
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	page := influencersPage{head: v.head(v.lang.T("influencers.title"), "influencers"), APIPath: apiPath(v.current.Environment, "influencers")}
	if len(list) > influencersPerPage {
		list = list[:influencersPerPage]
		last := list[len(list)-1]
		next := commerce.InfluencerCursor{CreatedAt: last.CreatedAt, InfluencerID: last.InfluencerID}
		page.More = storePath("/dashboard/influencers", v.current.CompanyID, "after", next.String())
	}
	if !after.IsZero() {
		page.First = storePath("/dashboard/influencers", v.current.CompanyID)
	}
	today := s.now().In(zoneOf(v.current.Timezone)).Format(time.DateOnly)
	page.StartDate = today
	for _, influencer := range list {
		page.List = append(page.List, s.viewInfluencer(v.lang, influencer, today))
	}
	s.render(w, r, http.StatusOK, "influencers.html", page)
}

func (s *Server) viewInfluencer(l *lang.Printer, i commerce.Influencer, today string) influencerCard {
	card := influencerCard{Name: i.Name, Category: i.Category}
	campaigns := map[string]string{}
	for _, c := range i.Campaigns {
		campaigns[c.CampaignID] = c.Name
	}
	for _, link := range i.Links {
		line := linkLine{Short: link.Code, Destination: link.URL, Campaign: campaigns[link.CampaignID]}
		if s.config.ShortBase != "" {
			line.Short = strings.TrimSuffix(s.config.ShortBase, "/") + "/" + link.Code
			line.Copy = s.shortScheme() + line.Short
		}
		card.Links = append(card.Links, line)
	}
	for _, c := range i.Coupons {
		line := couponLine{Code: c.Code, Campaign: campaigns[c.CampaignID], Period: l.Period(c.StartDate, c.EndDate), State: "active"}
		switch {
		case c.StartDate != "" && c.StartDate > today:
			line.State = "ahead"
		case c.EndDate != "" && c.EndDate < today:
			line.State = "over"
		}
		line.StateText = l.T("coupon." + line.State)
		card.Coupons = append(card.Coupons, line)
	}
	for _, c := range i.Costs {
		card.Costs = append(card.Costs, viewCost(l, c, campaigns[c.CampaignID]))
	}
	return card
}

// shortScheme returns the scheme of short links. Loopback addresses, which only
// `tributary dev` uses, have no certificate.
func (s *Server) shortScheme() string {
	for _, local := range []string{"127.0.0.1", "localhost", "[::1]"} {
		if strings.HasPrefix(s.config.ShortBase, local) {
			return "http://"
		}
	}
	return "https://"
}

func viewCost(l *lang.Printer, c commerce.Cost, campaign string) agreementLine {
	line := agreementLine{Formula: costFormula(l, c.CostTerms), For: l.T("cost.any_sale"), Period: l.Period(c.StartDate, c.EndDate)}
	whatever := c.FixedFeeMinor == 0 && !c.VarFee.IsPositive() // a value is owed whatever the evidence
	switch {
	case whatever && campaign != "":
		line.For = l.T("cost.campaign_whatever", campaign)
	case whatever:
		line.For = l.T("cost.whatever")
	case campaign != "":
		line.For = l.T("cost.campaign", campaign)
	}
	if c.CouponCost && !whatever {
		line.For += ", " + l.T("cost.coupon_only")
	}
	return line
}

// costFormula says what a cost pays: "R$ 5.00 an order + 10% of sales".
func costFormula(l *lang.Printer, c commerce.CostTerms) string {
	var parts []string
	if c.FixedFeeMinor > 0 {
		parts = append(parts, l.T("cost.per_order", l.Money(c.FixedFeeMinor, commerce.BRL)))
	}
	if c.VarFee.IsPositive() {
		parts = append(parts, l.T("cost.of_sales", l.Number(c.VarFee)))
	}
	if c.ValueMinor > 0 {
		parts = append(parts, l.T("cost."+c.Frequency, l.Money(c.ValueMinor, commerce.BRL)))
	}
	return strings.Join(parts, " + ")
}

// apiPath is where the store's platform calls an operation.
func apiPath(environment, operation string) string {
	if environment == commerce.Sandbox {
		return "/sandbox/admin/v1/" + operation
	}
	return "/admin/v1/" + operation
}
