package assistant

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/fold"
	"github.com/tributary-io/tributary/internal/models"
	"github.com/tributary-io/tributary/internal/reports"
)

// tool is one thing that an assistant can ask.
type tool struct {
	name, title string
	what        string
	narrow      string // how to ask for less
	takes       []argument
	gives       shape
	call        func(ctx context.Context, c *Client, g given) (map[string]any, error)
}

// Arguments that several tools take.
var (
	startDay   = argument{name: "start_date", kind: aDay, what: "The first day, in the store's time zone."}
	endDay     = argument{name: "end_date", kind: aDay, what: "The last day, inclusive."}
	theLimit   = argument{name: "limit", kind: aNumber, most: mostRows, what: "How many rows to give; 25 without it."}
	theCursor  = argument{name: "cursor", kind: aText, most: longestCursor, what: "more.next_cursor of the answer before."}
	influencer = argument{name: "influencer_id", kind: aUUID, what: "The id of an influencer, from find_influencers."}
	orderID    = argument{name: "order_id", kind: aText, most: longestID, need: true, what: "The orderId, from find_orders."}
)

// days are the days of a report where an argument gives none: the last 30.
const days = 30

// tools lists what can be asked, in the order of their names.
func tools() []tool {
	all := []tool{reportTool(), findOrders(), explainOrder(), findInfluencers(), signsTool(), statementTool(), storeTool(),
		listTool("payouts", "What each influencer has", "What each influencer has, one row for each currency, by name: expected (of "+
			"pending orders), review (waits for the store's decision), held, payable now, paid, withheld.",
			"give a smaller limit", "/payouts", balanceShape, nil),
		listTool("ledger", "Ledger of commissions", "The entries of the ledger, the newest first: what each influencer earned, and what "+
			"was taken back. start_date and end_date are the days on which they were posted.",
			"give an influencer_id, a state or fewer days", "/ledger", entryShape,
			[]argument{influencer, {name: "state", kind: aWord, words: []string{"held", "payable", "paid"}, what: "What became of the money."},
				{name: "of", kind: aWord, words: []string{"order", "agreement", "entry"},
					what: "Entries of orders, of fixed agreements, or made by hand."},
				startDay, endDay}),
		listTool("statements", "Statements", "The statements, the newest first, without their lines: what was closed for each "+
			"influencer, and what of it was withheld and paid.",
			"give an influencer_id or a state", "/statements", object(statementFields),
			[]argument{influencer, {name: "state", kind: aWord, words: []string{"closing", "closed", "paid"}, what: "How far it is."}}),
		listTool("products", "Products", "The catalogue, by productId. What sold is told by report products.", "give a smaller limit",
			"/products",
			productShape, nil),
	}
	slices.SortFunc(all, func(a, b tool) int { return strings.Compare(a.name, b.name) })
	return all
}

// listTool is a tool that gives a list of the admin API. Its arguments are those of the path's query.
func listTool(name, title, what, narrow, path string, row shape, takes []argument) tool {
	l := listing{path: path, row: row, most: mostRows}
	return tool{name: name, title: title, what: what, narrow: narrow, takes: append(slices.Clone(takes), theLimit, theCursor),
		gives: l.shape(),
		call: func(ctx context.Context, c *Client, g given) (map[string]any, error) {
			return l.read(ctx, c, g.query(), g.number("limit", usualRows))
		}}
}

// query are the arguments as a query, but limit.
func (g given) query(without ...string) url.Values {
	query := url.Values{}
	for name, text := range g {
		if name != "limit" && !slices.Contains(without, name) {
			query.Set(name, text)
		}
	}
	return query
}

// withDays adds the days that were not given.
func (g given) withDays(ctx context.Context, c *Client) (given, error) {
	g = maps.Clone(g)
	if g["end_date"] == "" {
		s, err := c.today(ctx, true)
		if err != nil {
			return nil, err
		}
		g["end_date"] = s.Today
	}
	if g["start_date"] == "" {
		last, err := time.Parse(time.DateOnly, g["end_date"])
		if err != nil {
			return nil, errStrange
		}
		g["start_date"] = last.AddDate(0, 0, 1-days).Format(time.DateOnly)
	}
	return g, nil
}

func reportTool() tool {
	row, totals := reportShapes()
	l := listing{field: "rows", row: row, most: countedRows, head: slices.Concat(texts("start_date end_date by model currency as_of"),
		one("other_currencies", said("currencies that are left out of this report", list(shape{kind: "string"}))),
		one("totals", said("of all rows, also of those that are not here", totals)),
		one("comparison", said("the days that compare asks for, and their totals",
			object(texts("start_date end_date"), one("totals", totals)))))}
	var names []string
	for _, spec := range reports.Specs() {
		names = append(names, string(spec.Name))
	}
	return tool{
		name: "report", title: "Report of the store",
		what: "A report of the store by days, at most 366. name says of what: sales (all of the store), influencers (with their " +
			"campaigns), coupons, channels, products, funnel (of products), paths (of visits before a sale), costs, delivery and sources " +
			"(of events). Each report has only the columns that fit it. A quotient by 0 is absent. Without dates it has the last 30 days.",
		narrow: "ask for fewer days, or by total",
		takes: []argument{{name: "name", kind: aWord, words: names, need: true, what: "Which report."}, startDay, endDay,
			{name: "by", kind: aWord, words: wordsOf(reports.Bys), what: "The length of a period; total is one for all days, as without it."},
			{name: "compare", kind: aWord, what: "Also give the totals of as many days before, or of the same days of an earlier month, " +
				"quarter or year.",
				words: wordsOf([]reports.Comparison{reports.ComparePrevious, reports.CompareMonth, reports.CompareQuarter, reports.CompareYear})},
			{name: "model", kind: aWord, words: models.All, what: "The model of channel credit, of influencers and channels. markov and " +
				"shapley: of channels."},
			{name: "currency", kind: aText, most: 3, what: "ISO 4217; the store's without it."}, theLimit, theCursor},
		gives: l.shape(),
		call: func(ctx context.Context, c *Client, g given) (map[string]any, error) {
			g, err := g.withDays(ctx, c)
			if err != nil {
				return nil, err
			}
			if g["by"] == "" {
				g["by"] = string(reports.ByTotal)
			}
			l := l
			l.path = "/reports/" + g["name"]
			return l.read(ctx, c, g.query("name"), g.number("limit", usualRows))
		},
	}
}

// countedRows is how many rows of a report or a statement are counted behind those that are given.
const countedRows = 1000

func wordsOf[T ~string](list []T) (words []string) {
	for _, word := range list {
		words = append(words, string(word))
	}
	return words
}

var statusNumbers = map[string]string{"approved": "0", "pending": "1", "cancelled": "2"}

func findOrders() tool {
	l := listing{path: "/orders", row: orderShape, most: mostRows}
	return tool{
		name: "find_orders", title: "Find orders",
		what: "Orders, the newest first, with who is paid for each. text finds an order by its id, name or number: 1001 finds #1001 too. " +
			"Nothing of the buyer is given.",
		narrow: "give a text, a coupon, an influencer_id, a status or fewer days",
		takes: []argument{{name: "text", kind: aText, most: longestID, what: "The order's whole id, name or number."},
			{name: "coupon", kind: aText, most: longestID, what: "The discount code, whole."}, influencer,
			{name: "status", kind: aWord, words: []string{"approved", "pending", "cancelled"}, what: "The order's status."},
			startDay, endDay, theLimit, theCursor},
		gives: l.shape(),
		call: func(ctx context.Context, c *Client, g given) (map[string]any, error) {
			query := g.query("status")
			if status := g["status"]; status != "" {
				query.Set("status", statusNumbers[status])
			}
			return l.read(ctx, c, query, g.number("limit", usualRows))
		},
	}
}

func explainOrder() tool {
	gives := object(explanationShape.fields, leftOut())
	return tool{
		name: "explain_order", title: "Why an order is credited as it is",
		what: "Why an order is credited as it is: who is paid and by which evidence and proof, every visit that was considered and why " +
			"it counted or not, the agreements behind the commission, each channel model, what would be without the coupon or the link, and " +
			"the ledger.",
		narrow: "the rest of this order is on the dashboard", takes: []argument{orderID}, gives: gives,
		call: func(ctx context.Context, c *Client, g given) (map[string]any, error) {
			return oneObject(ctx, c, "/order/"+url.PathEscape(g["order_id"])+"/attribution", nil, gives)
		},
	}
}

// oneObject reads an answer that is one object.
func oneObject(ctx context.Context, c *Client, path string, query url.Values, gives shape) (map[string]any, error) {
	a, err := c.get(ctx, path, query)
	if err != nil {
		return nil, err
	}
	value, err := a.value()
	if err != nil {
		return nil, err
	}
	whole, ok := value.(map[string]any)
	if !ok {
		return nil, errStrange
	}
	return gives.fieldsIn(whole), nil
}

func signsTool() tool {
	gives := object(texts("start_date end_date as_of"), numbers("orders"), flags("cut"), one("signs", list(signShape)), leftOut())
	return tool{
		name: "signs", title: "Signs of leaked coupons and hijacked sales",
		what: "What is unusual in the orders of some days, at most 366: coupons that spread, links opened after the checkout began, " +
			"links that nothing proves, one buyer of many orders, and more. A sign says what was seen, how often it is seen otherwise, and " +
			"what it cost. It proves nothing. Without dates it looks at the last 30 days.",
		narrow: "ask for fewer days", takes: []argument{startDay, endDay}, gives: gives,
		call: func(ctx context.Context, c *Client, g given) (map[string]any, error) {
			g, err := g.withDays(ctx, c)
			if err != nil {
				return nil, err
			}
			return oneObject(ctx, c, "/reports/signs", g.query(), gives)
		},
	}
}

func statementTool() tool {
	l := listing{field: "lines", row: statementLineShape, head: statementFields, most: countedRows}
	return tool{
		name: "statement", title: "One statement with its lines",
		what:   "One statement with what it has of each order. One that is still closing has no lines yet.",
		narrow: "give a smaller limit",
		takes: []argument{{name: "statement_id", kind: aUUID, need: true, what: "The id of a statement, from statements."},
			theLimit, theCursor},
		gives: l.shape(),
		call: func(ctx context.Context, c *Client, g given) (map[string]any, error) {
			l := l
			l.path = "/statements/" + g["statement_id"]
			return l.read(ctx, c, g.query("statement_id"), g.number("limit", usualRows))
		},
	}
}

func storeTool() tool {
	gives := object(texts("environment timezone today"))
	return tool{
		name: "store", title: "The store's day",
		what:  "Which day it is in the store's time zone, and whether this is the live store or its sandbox.",
		gives: gives,
		call: func(ctx context.Context, c *Client, _ given) (map[string]any, error) {
			s, err := c.today(ctx, true)
			if err != nil {
				return nil, err
			}
			environment, _ := account.KeyEnvironment(c.key) // NewClient looked at it
			return gives.fieldsIn(map[string]any{"environment": environment, "timezone": s.Timezone, "today": s.Today}), nil
		},
	}
}

// searchedPages bounds the pages of mostRows influencers that one call looks through.
const searchedPages = 20

func findInfluencers() tool {
	l := listing{path: "/influencers", row: influencerShape, most: mostRows}
	return tool{
		name: "find_influencers", title: "Find influencers",
		what: "Influencers with their campaigns, links, coupons and agreements, the oldest first. name finds a part of the name or of a " +
			"former one, or a whole coupon code, whatever the case and accents. Nothing personal is given.",
		narrow: "give a name, or a longer part of it",
		takes: []argument{{name: "name", kind: aText, most: commerce.MaxName, what: "A part of the name, or a coupon code."},
			theLimit, theCursor},
		gives: l.shape(),
		call: func(ctx context.Context, c *Client, g given) (map[string]any, error) {
			if g["name"] == "" {
				return l.read(ctx, c, g.query(), g.number("limit", usualRows))
			}
			return searchInfluencers(ctx, c, l, g)
		},
	}
}

// searchInfluencers goes through the influencers page by page, and ends with the page that completes limit.
func searchInfluencers(ctx context.Context, c *Client, l listing, g given) (map[string]any, error) {
	found, query, limit := []any{}, g.query("name"), g.number("limit", usualRows)
	page := map[string]any{}
	for n := 0; ; n++ {
		a, rows, _, err := l.ask(ctx, c, query, mostRows)
		if err != nil {
			return nil, err
		}
		for i := 0; i < len(rows) && len(found) < limit; i++ {
			if named(rows[i], g["name"]) {
				if kept, ok := l.row.keep(rows[i]); ok {
					found = append(found, kept)
				}
			}
			if len(found) == limit && i+1 < len(rows) { // the cursor is to stand behind the last one that is given
				if a, _, _, err = l.ask(ctx, c, query, i+1); err != nil {
					return nil, err
				}
			}
		}
		next := a.Pagination.NextCursor
		if !a.Pagination.HasMore {
			break
		}
		if n+1 == searchedPages || len(found) == limit {
			page["more"] = map[string]any{"rows": 0, "or_more": true, "next_cursor": next} // nobody has looked at them
			break
		}
		query.Set("cursor", next)
	}
	page["rows"] = found
	return page, nil
}

// named reports whether an influencer has a part of a name, or a coupon's code.
func named(row any, text string) bool {
	i, _ := row.(map[string]any)
	former, _ := i["former_names"].([]any)
	for _, name := range append([]any{i["name"]}, former...) {
		if name, ok := name.(string); ok && strings.Contains(fold.Name(name), fold.Name(text)) {
			return true
		}
	}
	coupons, _ := i["coupons"].([]any)
	return slices.ContainsFunc(coupons, func(coupon any) bool {
		c, _ := coupon.(map[string]any)
		code, _ := c["code"].(string)
		return code != "" && fold.Code(code) == fold.Code(text)
	})
}
