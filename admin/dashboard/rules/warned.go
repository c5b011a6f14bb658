package rules

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/fold"
	"github.com/tributary-io/tributary/internal/lang"
	"github.com/tributary-io/tributary/internal/publichost"
	"github.com/tributary-io/tributary/internal/reports"
)

// This file says what is allowed and is probably not meant, before it is saved.

const (
	// comparedDays is over how many days, today included, orders are compared with a fee.
	comparedDays = 30
	// mostForeign bounds the hosts that are named.
	mostForeign = 10
)

// warnOfFee warns of a fee per order that is above what orders are worth: probably a mistake of typing.
func (s *Pages) warnOfFee(ctx context.Context, v site.Request, f *site.Form, costs ...commerce.CostTerms) error {
	for _, c := range costs {
		if c.FixedFeeMinor <= 0 {
			continue
		}
		now := s.Now().In(v.Zone())
		below, orders, err := s.db.OrdersBelow(ctx, reports.Query{CompanyID: v.Current.CompanyID, Currency: commerce.BRL,
			Start: now.AddDate(0, 0, 1-comparedDays).Format(time.DateOnly), End: now.Format(time.DateOnly)}, c.FixedFeeMinor)
		if err != nil {
			return err
		}
		if below > 0 {
			f.Warn(f.Lang.T("warn.fee", f.Lang.Money(c.FixedFeeMinor, commerce.BRL), f.Lang.Count(below), f.Lang.Count(orders)))
		}
	}
	return nil
}

// warnOfArchived warns of a new influencer who would have the name of one who is archived: probably that one is meant.
func (s *Pages) warnOfArchived(ctx context.Context, v site.Request, f *site.Form, name string) error {
	if !commerce.IsID(name) {
		return nil
	}
	has := func(archived bool) (bool, error) {
		search, err := s.influencerSearch(v, name, "")
		if err != nil {
			return false, err
		}
		search.Archived, search.Limit = archived, influencersPerPage
		list, err := s.db.FindInfluencers(ctx, v.Current.CompanyID, search)
		return slices.ContainsFunc(list, func(i commerce.InfluencerSummary) bool { return fold.Name(i.Name) == fold.Name(name) }), err
	}
	live, err := has(false)
	if err != nil || live {
		return err
	}
	archived, err := has(true)
	if archived {
		f.Warn(f.Lang.T("warn.archived", name))
	}
	return err
}

// warnOfLinks warns of destinations on hosts that are none of the store's own sites.
func (s *Pages) warnOfLinks(ctx context.Context, v site.Request, f *site.Form, links []string) error {
	if len(links) == 0 {
		return nil
	}
	own, err := s.ownHosts(ctx, v)
	if err == nil {
		f.Warn(foreignHosts(f.Lang, own, links))
	}
	return err
}

// ownHosts are the hosts of the store's addresses, in ASCII.
func (s *Pages) ownHosts(ctx context.Context, v site.Request) ([]string, error) {
	company, err := s.db.Company(ctx, v.Current.CompanyID)
	if err != nil {
		return nil, err
	}
	own := slices.Clone(company.Hosts)
	for _, origin := range company.Origins {
		if host, ok := publichost.OfOrigin(origin); ok {
			own = append(own, host)
		}
	}
	return own, nil
}

// foreignHosts says which hosts of links are of no site of the store's, in ASCII: a letter may look like another one. It is
// empty where there is none, and where the store has no address yet.
func foreignHosts(l *lang.Printer, own, links []string) string {
	var foreign []string
	for _, link := range links {
		host, err := publichost.OfDestination(link)
		if err != nil || slices.Contains(foreign, host) ||
			slices.ContainsFunc(own, func(o string) bool { return publichost.SameSite(host, o) }) {
			continue
		}
		foreign = append(foreign, host)
	}
	if len(foreign) == 0 || len(own) == 0 {
		return ""
	}
	names := strings.Join(foreign[:min(len(foreign), mostForeign)], ", ")
	if len(foreign) > mostForeign {
		names += " …"
	}
	return l.T("warn.links", names)
}

// lateAgreement says that a registration's coupon works before any of its agreements pays for it; empty where one does, and
// where there is no coupon or no agreement by order. today is YYYY-MM-DD.
func lateAgreement(l *lang.Printer, asked commerce.Registration, today string) string {
	first := ""
	for _, c := range asked.Costs {
		if (c.FixedFeeMinor > 0 || c.VarFee.IsPositive()) && (first == "" || c.StartDate < first) {
			first = c.StartDate
		}
	}
	for _, coupon := range asked.Coupons {
		begins := coupon.StartDate
		if begins == "" {
			begins = today
		}
		if first != "" && begins < first {
			return l.T("warn.late", coupon.Code, l.Day(begins), l.Day(first))
		}
	}
	return ""
}
