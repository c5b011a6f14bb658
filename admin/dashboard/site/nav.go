package site

import (
	"slices"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

// navPage is one page of the navigation. Its name is the text "nav.<id>".
type navPage struct {
	id    string
	path  string
	owner bool // only owners see it
}

// navigation is the pages, by group. The name of a group is the text "nav.<name>".
var navigation = []struct {
	name  string
	pages []navPage
}{
	{"sales", []navPage{{id: "overview", path: OverviewPath}, {id: "today", path: "/dashboard/"}, {id: "orders", path: OrdersPath},
		{id: "products", path: ProductsPath}, {id: "paths", path: PathsPath}}},
	{"partners", []navPage{{id: "influencers", path: InfluencersPath}, {id: "coupons", path: CouponsPath},
		{id: "reviews", path: ReviewsPath}, {id: "signs", path: SignsPath}}},
	{"money", []navPage{{id: "payouts", path: PayoutsPath}, {id: "statements", path: StatementsPath}, {id: "costs", path: CostsPath}}},
}

// storeMenu is what the store's name leads to.
var storeMenu = []navPage{
	{id: "shops", path: ShopsPath},
	{id: "install", path: InstallPath, owner: true},
	{id: "events", path: EventsPath},
	{id: "delivery", path: DeliveryPath},
	{id: "keys", path: KeysPath, owner: true},
	{id: "webhooks", path: WebhooksPath},
	{id: "conversions", path: ConversionsPath},
	{id: "mails", path: MailsPath},
	{id: "settings", path: SettingsPath},
	{id: "people", path: PeoplePath, owner: true},
	{id: "audit", path: AuditPath, owner: true},
	{id: "privacy", path: PrivacyPath, owner: true},
}

// Head is what every page of a store shows above its content.
type Head struct {
	Title    string
	Notice   string            // may be empty
	Failures string            // of log-ins; may be empty
	Done     string            // what was done just now; may be empty
	Stale    string            // why nothing was done just now; may be empty
	Versions map[string]string // of what the page's forms change, by id: a hidden field of each
	Store    string
	Role     string
	Owner    bool   // forms are shown
	Pays     bool   // forms of statements are shown
	Archived bool   // the company is: it takes no form but those of statements, whoever looks
	Live     string // path of the same page in each environment; empty where there is none
	Sandbox  string
	IsLive   bool
	Stores   []Link // other stores of this person
	Menu     []Link // of this store
	Nav      []navGroup
	Where    string // the name of this page in the navigation; may be empty
	// ZoneWords says whose time the page shows.
	ZoneWords string
	Page      string // which page this is: an id of navigation or of storeMenu, or empty
	Here      string // path of this page, with its query
	Company   string // companyId
	File      string // path of the page's list as a CSV file; empty: it has none
}

type navGroup struct {
	Name  string
	Links []Link
}

// Link leads to a page.
type Link struct {
	Name, Path string
	Current    bool
}

// Head returns what stands above a page. page is its id in the navigation.
func (v Request) Head(title, page string) Head {
	h := Head{
		Title: title, Notice: v.Notice, Failures: v.Failures, Done: v.Done, Stale: v.Stale,
		Store: v.Current.Name, Role: v.Lang.T("role." + v.Current.Role),
		Owner: v.MayChange(), Pays: v.MayPay(), Archived: v.Archived(), IsLive: v.Current.Environment == commerce.Live,
		ZoneWords: ZoneWords(v.Lang, v.Current.Timezone), Page: page, Here: v.Here, Company: v.Current.CompanyID,
	}
	for _, group := range navigation {
		h.Nav = append(h.Nav, navGroup{v.Lang.T("nav." + group.name), v.links(group.pages, page)})
	}
	h.Menu = v.links(storeMenu, page)
	h.Where = h.current()
	seen := map[string]bool{v.Current.StoreID: true}
	for _, a := range v.Accesses {
		switch {
		case a.StoreID == v.Current.StoreID && a.Environment == commerce.Live:
			h.Live = samePage(page, a.CompanyID)
		case a.StoreID == v.Current.StoreID:
			h.Sandbox = samePage(page, a.CompanyID)
		case !seen[a.StoreID]:
			seen[a.StoreID] = true
			h.Stores = append(h.Stores, Link{Name: a.Name, Path: DayPath(a.CompanyID, "")})
		}
	}
	return h
}

// current is the name of the page that is shown, as the navigation has it.
func (h Head) current() string {
	for _, group := range append(slices.Clip(h.Nav), navGroup{Links: h.Menu}) {
		for _, link := range group.Links {
			if link.Current {
				return link.Name
			}
		}
	}
	return ""
}

func (v Request) links(pages []navPage, current string) (list []Link) {
	for _, p := range pages {
		if !p.owner || v.Current.Role == account.RoleOwner {
			list = append(list, Link{v.Lang.T("nav." + p.id), v.Path(p.path), p.id == current})
		}
	}
	return list
}

// samePage is a page's path in another environment; the first page's for one
// that the navigation does not lead to.
func samePage(page, companyID string) string {
	for _, group := range navigation {
		for _, p := range group.pages {
			if p.id == page {
				return StorePath(p.path, companyID)
			}
		}
	}
	for _, p := range storeMenu {
		if p.id == page {
			return StorePath(p.path, companyID)
		}
	}
	return DayPath(companyID, "")
}
