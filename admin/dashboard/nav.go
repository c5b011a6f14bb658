package dashboard

import (
	"slices"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

// navPage is one page of the navigation. Its name is the text "nav.<id>".
type navPage struct {
	id    string
	path  string
	owner bool // analysts do not see it
}

// navigation is the pages, by group. The name of a group is the text "nav.<name>".
var navigation = []struct {
	name  string
	pages []navPage
}{
	{"sales", []navPage{{id: "overview", path: overviewPath}, {id: "today", path: "/dashboard/"}, {id: "orders", path: ordersPath},
		{id: "products", path: productsPath}, {id: "paths", path: pathsPath}}},
	{"partners", []navPage{{id: "influencers", path: influencersPath}, {id: "reviews", path: reviewsPath}, {id: "signs", path: signsPath}}},
	{"money", []navPage{{id: "payouts", path: payoutsPath}, {id: "statements", path: statementsPath}, {id: "costs", path: costsPath}}},
}

// storeMenu is what the store's name leads to.
var storeMenu = []navPage{
	{id: "install", path: installPath, owner: true},
	{id: "events", path: eventsPath},
	{id: "delivery", path: deliveryPath},
	{id: "keys", path: keysPath, owner: true},
	{id: "settings", path: settingsPath},
	{id: "people", path: peoplePath, owner: true},
	{id: "audit", path: auditPath, owner: true},
}

// head is what every page of a store shows above its content.
type head struct {
	Title    string
	Notice   string // may be empty
	Done     string // what was done just now; may be empty
	Store    string
	Role     string
	Owner    bool   // forms are shown
	Archived bool   // the company is: it takes no form, whoever looks
	Live     string // path of the same page in each environment; empty where there is none
	Sandbox  string
	IsLive   bool
	Stores   []navLink // other stores of this person
	Menu     []navLink // of this store
	Nav      []navGroup
	Where    string // the name of this page in the navigation; may be empty
	Timezone string
	Page     string // which page this is: an id of navigation or of storeMenu, or empty
	Here     string // path of this page, with its query
	Company  string // companyId
	File     string // path of the page's list as a CSV file; empty: it has none
}

type navGroup struct {
	Name  string
	Links []navLink
}

type navLink struct {
	Name, Path string
	Current    bool
}

// head returns what stands above a page. page is its id in the navigation.
func (v pageRequest) head(title, page string) head {
	h := head{
		Title: title, Notice: v.notice, Done: v.done, Store: v.current.Name, Role: v.lang.T("role." + v.current.Role),
		Owner: v.mayChange(), Archived: v.archived(), IsLive: v.current.Environment == commerce.Live,
		Timezone: v.current.Timezone, Page: page, Here: v.here, Company: v.current.CompanyID,
	}
	for _, group := range navigation {
		h.Nav = append(h.Nav, navGroup{v.lang.T("nav." + group.name), v.links(group.pages, page)})
	}
	h.Menu = v.links(storeMenu, page)
	h.Where = h.current()
	seen := map[string]bool{v.current.StoreID: true}
	for _, a := range v.accesses {
		switch {
		case a.StoreID == v.current.StoreID && a.Environment == commerce.Live:
			h.Live = samePage(page, a.CompanyID)
		case a.StoreID == v.current.StoreID:
			h.Sandbox = samePage(page, a.CompanyID)
		case !seen[a.StoreID]:
			seen[a.StoreID] = true
			h.Stores = append(h.Stores, navLink{Name: a.Name, Path: dayPath(a.CompanyID, "")})
		}
	}
	return h
}

// current is the name of the page that is shown, as the navigation has it.
func (h head) current() string {
	for _, group := range append(slices.Clip(h.Nav), navGroup{Links: h.Menu}) {
		for _, link := range group.Links {
			if link.Current {
				return link.Name
			}
		}
	}
	return ""
}

func (v pageRequest) links(pages []navPage, current string) (list []navLink) {
	for _, p := range pages {
		if !p.owner || v.current.Role == account.RoleOwner {
			list = append(list, navLink{v.lang.T("nav." + p.id), storePath(p.path, v.current.CompanyID), p.id == current})
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
				return storePath(p.path, companyID)
			}
		}
	}
	for _, p := range storeMenu {
		if p.id == page {
			return storePath(p.path, companyID)
		}
	}
	return dayPath(companyID, "")
}
