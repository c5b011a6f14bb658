package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"time"

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

func (s *Server) influencers(w http.ResponseWriter, r *http.Request, v pageRequest) {
	after, err := commerce.ParseInfluencerCursor(r.URL.Query().Get("after"))
	if err != nil {
		s.problemOf(w, r, v.access, http.StatusBadRequest, "Bad address", "The address does not say which influencers to show.")
		return
	}
	list, err := s.db.Influencers(r.Context(), v.current.CompanyID, after, influencersPerPage+1)
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	page := influencersPage{head: v.head("Influencers", "influencers"), APIPath: apiPath(v.current.Environment, "influencers")}
	if len(list) > influencersPerPage {
		list = list[:influencersPerPage]
		last := list[len(list)-1]
		next := commerce.InfluencerCursor{CreatedAt: last.CreatedAt, InfluencerID: last.InfluencerID}
		page.More = page.InfluencersPath + "&after=" + url.QueryEscape(next.String())
	}
	if !after.IsZero() {
		page.First = page.InfluencersPath
	}
	today := s.now().In(zoneOf(v.current.Timezone)).Format(time.DateOnly)
	page.StartDate = today
	for _, influencer := range list {
		page.List = append(page.List, s.viewInfluencer(influencer, today))
	}
	s.render(w, http.StatusOK, "influencers.html", page)
}

func (s *Server) viewInfluencer(i commerce.Influencer, today string) influencerCard {
	card := influencerCard{Name: i.Name, Category: i.Category}
	campaigns := map[string]string{}
	for _, c := range i.Campaigns {
		campaigns[c.CampaignID] = c.Name
	}
	for _, l := range i.Links {
		line := linkLine{Short: l.Code, Destination: l.URL, Campaign: campaigns[l.CampaignID]}
		if s.config.ShortBase != "" {
			line.Short = strings.TrimSuffix(s.config.ShortBase, "/") + "/" + l.Code
			line.Copy = s.shortScheme() + line.Short
		}
		card.Links = append(card.Links, line)
	}
	for _, c := range i.Coupons {
		line := couponLine{Code: c.Code, Campaign: campaigns[c.CampaignID], Period: periodText(c.StartDate, c.EndDate), State: "active", StateText: "Active"}
		switch {
		case c.StartDate != "" && c.StartDate > today:
			line.State, line.StateText = "ahead", "Not yet"
		case c.EndDate != "" && c.EndDate < today:
			line.State, line.StateText = "over", "Ended"
		}
		card.Coupons = append(card.Coupons, line)
	}
	for _, c := range i.Costs {
		card.Costs = append(card.Costs, viewCost(c, campaigns[c.CampaignID]))
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

func viewCost(c commerce.Cost, campaign string) agreementLine {
	var parts []string
	if c.FixedFeeMinor > 0 {
		parts = append(parts, money(c.FixedFeeMinor, commerce.BRL)+" an order")
	}
	if c.VarFee.IsPositive() {
		parts = append(parts, c.VarFee.String()+"% of sales")
	}
	if c.ValueMinor > 0 {
		text := money(c.ValueMinor, commerce.BRL)
		switch c.Frequency {
		case commerce.Specific:
			text += " once"
		case commerce.Daily:
			text += " a day"
		case commerce.Weekly:
			text += " a week"
		case commerce.Monthly:
			text += " a month"
		}
		parts = append(parts, text)
	}
	line := agreementLine{Formula: strings.Join(parts, " + "), For: "any sale of theirs", Period: periodText(c.StartDate, c.EndDate)}
	if campaign != "" {
		line.For = "campaign " + campaign
	}
	if c.FixedFeeMinor == 0 && !c.VarFee.IsPositive() {
		line.For = "for the influencer, whatever is sold" // a value is owed whatever the evidence
		if campaign != "" {
			line.For = "for campaign " + campaign + ", whatever is sold"
		}
	} else if c.CouponCost {
		line.For += ", by coupon only"
	}
	return line
}

// periodText writes inclusive days: "from 1 Nov 2026", "1 Nov 2026 – 30 Nov 2026".
func periodText(start, end string) string {
	from, to := dayText(start), dayText(end)
	switch {
	case from == "" && to == "":
		return "always"
	case to == "":
		return "from " + from
	case from == "":
		return "until " + to
	case from == to:
		return "on " + from
	}
	return from + " – " + to
}

func dayText(day string) string {
	date, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return day
	}
	return date.Format("2 Jan 2006")
}

// apiPath is where the store's platform calls an operation.
func apiPath(environment, operation string) string {
	if environment == commerce.Sandbox {
		return "/sandbox/admin/v1/" + operation
	}
	return "/admin/v1/" + operation
}
