package dashboard

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/reports"
)

const (
	// mostFileRows bounds a list's file. Of more, people choose fewer by the filters.
	mostFileRows = 20_000
	// rowsPerRead is how many rows are read at once for a file.
	rowsPerRead = 500
	// filesAtOnce is how many lists are made a file at the same time, and personsFiles those
	// of one person: a file of the most rows takes some ten megabytes.
	filesAtOnce  = 4
	personsFiles = 2
	// statementsAtOnce is how many statements are sent as a file at the same time: whoever reads
	// slowly holds no memory, but a request and now and then a connection to PostgreSQL.
	statementsAtOnce = 32
)

// A list's file has the path of its page and this ending, and the page's filters. Amounts
// have a decimal point and no currency sign, whatever the language; texts that somebody
// else chose are no formulas (reports.CSVText).
const csvEnding = ".csv"

// listFile is the rows of a list's file.
type listFile struct {
	header []string
	lines  [][]string
}

// add adds a row. It returns reports.ErrTooManyRows where there is no room for it.
func (f *listFile) add(cells ...string) error {
	if len(f.lines) == mostFileRows {
		return reports.ErrTooManyRows
	}
	for i, cell := range cells {
		cells[i] = cellOf(cell)
	}
	f.lines = append(f.lines, cells)
	return nil
}

// cellOf is a cell that is no formula; a negative number stays one.
func cellOf(text string) string {
	if _, err := decimal.NewFromString(text); err == nil {
		return text
	}
	return reports.CSVText(text)
}

// fileReader reads what the address asks for into a file.
type fileReader func(ctx context.Context, r *http.Request, v pageRequest, f *listFile) error

func (s *Server) listRoutes() []route {
	return []route{
		{pattern: "GET " + ordersPath + csvEnding,
			handle: s.file("orders", []string{"order_id", "name", "created_at", "day", "status", "currency", "total", "discount_code",
				"influencer_id", "influencer", "campaign", "evidence", "commission", "fixed_commission_brl", "waits_for", "test"}, s.ordersFile)},
		{pattern: "GET " + influencersPath + csvEnding,
			handle: s.file("influencers", []string{"influencer_id", "influencer", "category", "links", "coupons_today", "costs",
				"orders_30_days", "sales_30_days", "commission_30_days", "currency"}, s.influencersFile)},
		{pattern: "GET " + influencerPath + csvEnding,
			handle: s.file("clicks", []string{"day", "code", "short_url", "url", "campaign_id", "clicks"}, s.clicksFile)},
		{pattern: "GET " + payoutsPath + csvEnding,
			handle: s.file("payouts",
				[]string{"influencer_id", "influencer", "currency", "expected", "review", "held", "payable", "paid"}, s.payoutsFile)},
		{pattern: "GET " + reviewsPath + csvEnding,
			handle: s.file("reviews", []string{"order_id", "name", "created_at", "currency", "total", "influencer_id", "influencer",
				"commission", "fixed_commission_brl", "reason"}, s.reviewsFile)},
		{pattern: "GET " + statementsPath + csvEnding,
			handle: s.file("statements", []string{"statement_id", "influencer_id", "influencer", "currency", "start_date", "end_date", "state",
				"orders", "opening", "total", "carried", "paid_at", "reference"}, s.statementsFile)},
		{pattern: "GET " + costsPath + csvEnding,
			handle: s.file("costs",
				[]string{"additional_cost_id", "name", "category", "value_brl", "frequency", "start_date", "end_date"}, s.costsFile)},
		{pattern: "GET " + peoplePath + csvEnding, owner: true,
			handle: s.file("people", []string{"person_id", "email", "role", "last_seen", "invited_until"}, s.peopleFile)},
		{pattern: "GET " + keysPath + csvEnding, owner: true,
			handle: s.file("keys",
				[]string{"key_id", "name", "environment", "type", "scopes", "ends_with", "created_at", "last_used_at", "expires_at", "revoked_at"},
				s.keysFile)},
		{pattern: "GET " + auditPath + csvEnding, owner: true,
			handle: s.file("audit", []string{"id", "at", "actor", "name", "action", "subject", "detail"}, s.auditFile)},
	}
}

// file answers with a list as a CSV file.
func (s *Server) file(name string, header []string, read fileReader) func(http.ResponseWriter, *http.Request, pageRequest) {
	return func(w http.ResponseWriter, r *http.Request, v pageRequest) {
		file, err := s.makeFile(r, v, header, read)
		if errors.Is(err, commerce.ErrNotFound) {
			s.problemOf(w, r, http.StatusNotFound, "no_influencer")
			return
		}
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		sendFile(w, name+"-"+s.dayOf(v), file)
	}
}

// makeFile makes a file of a list, once it is its turn.
func (s *Server) makeFile(r *http.Request, v pageRequest, header []string, read fileReader) ([]byte, error) {
	end, err := s.filing.take(r.Context(), v.access.personID)
	if err != nil {
		return nil, err
	}
	defer end()
	f := listFile{header: header}
	if err := read(r.Context(), r, v, &f); err != nil {
		return nil, err
	}
	return reports.WriteCSV(f.header, f.lines), nil
}

// minorText writes a sum of minor units as a number; an amount of 0 too.
func minorText(minor decimal.Decimal, currency string) string {
	return commerce.FormatSum(minor, currency)
}

func momentText(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

func (s *Server) ordersFile(ctx context.Context, r *http.Request, v pageRequest, f *listFile) error {
	query := r.URL.Query()
	page := askedOrders(query)
	if page.Text != "" || !orderFiltersAreGood(&page, query.Get("status")) {
		return errBadAddress
	}
	filter := page.filter(query.Get("status"))
	filter.Limit = rowsPerRead
	for {
		found, err := s.db.Orders(ctx, v.current.CompanyID, filter)
		if err != nil || len(found) == 0 {
			return err
		}
		ids := make([]string, 0, len(found))
		for _, o := range found {
			ids = append(ids, storedOrderID(o))
		}
		sales, err := s.db.SalesOf(ctx, v.current.CompanyID, ids)
		if err != nil {
			return err
		}
		for _, sale := range sales {
			if err := f.add(sale.OrderID, sale.Name, momentText(sale.CreatedAt), sale.Day, statusWord(sale.Status), sale.Currency,
				minorText(decimal.NewFromInt(sale.TotalMinor), sale.Currency),
				sale.DiscountCode, sale.InfluencerID, sale.Influencer, sale.Campaign, string(sale.Evidence),
				minorText(decimal.NewFromInt(sale.CommissionMinor), sale.Currency),
				minorText(decimal.NewFromInt(sale.FixedBRLMinor), commerce.BRL), sale.WaitsFor, strconv.FormatBool(sale.Test)); err != nil {
				return err
			}
		}
		if len(found) < rowsPerRead {
			return nil
		}
		filter.After = commerce.Cursor{At: found[len(found)-1].CreatedAt, OrderID: ids[len(ids)-1]}
	}
}

func statusWord(status int) string {
	if status < 0 || status >= len(statusWords) {
		return strconv.Itoa(status)
	}
	return statusWords[status]
}

func (s *Server) influencersFile(ctx context.Context, r *http.Request, v pageRequest, f *listFile) error {
	query := r.URL.Query()
	search, err := s.influencerSearch(v, strings.TrimSpace(query.Get("q")), query.Get("sort"))
	if err != nil {
		return err
	}
	search.Limit = rowsPerRead
	for {
		list, err := s.db.FindInfluencers(ctx, v.current.CompanyID, search)
		if err != nil {
			return err
		}
		for _, i := range list {
			if err := f.add(i.InfluencerID, i.Name, i.Category, strconv.FormatInt(i.Links, 10), strconv.FormatInt(i.Coupons, 10),
				strconv.FormatInt(i.Costs, 10), strconv.FormatInt(i.Orders, 10),
				minorText(i.TotalMinor, search.Currency), minorText(i.CommissionMinor, search.Currency), search.Currency); err != nil {
				return err
			}
		}
		if len(list) < rowsPerRead {
			return nil
		}
		search.Offset += len(list)
	}
}

func (s *Server) payoutsFile(ctx context.Context, _ *http.Request, v pageRequest, f *listFile) error {
	var after commerce.BalanceCursor
	for {
		list, err := s.db.Balances(ctx, v.current.CompanyID, s.dayOf(v), after, rowsPerRead)
		if err != nil {
			return err
		}
		for _, b := range list {
			if err := f.add(b.InfluencerID, b.Influencer, b.Currency, minorText(b.ExpectedMinor, b.Currency), minorText(b.ReviewMinor, b.Currency),
				minorText(b.HeldMinor, b.Currency),
				minorText(b.PayableMinor, b.Currency), minorText(b.PaidMinor, b.Currency)); err != nil {
				return err
			}
		}
		if len(list) < rowsPerRead {
			return nil
		}
		after = list[len(list)-1].Cursor()
	}
}

func (s *Server) reviewsFile(ctx context.Context, _ *http.Request, v pageRequest, f *listFile) error {
	var before commerce.Cursor
	for {
		list, err := s.db.Reviews(ctx, v.current.CompanyID, before, rowsPerRead)
		if err != nil {
			return err
		}
		for _, review := range list {
			sale := review.Sale
			if err := f.add(sale.OrderID, sale.Name, momentText(sale.CreatedAt), sale.Currency,
				minorText(decimal.NewFromInt(sale.TotalMinor), sale.Currency), review.InfluencerID, review.Influencer,
				minorText(decimal.NewFromInt(review.CommissionMinor), sale.Currency), minorText(decimal.NewFromInt(review.FixedBRLMinor), commerce.BRL),
				review.Reason); err != nil {
				return err
			}
		}
		if len(list) < rowsPerRead {
			return nil
		}
		before = commerce.Cursor{At: list[len(list)-1].Sale.CreatedAt, OrderID: list[len(list)-1].Sale.OrderID}
	}
}

func (s *Server) statementsFile(ctx context.Context, _ *http.Request, v pageRequest, f *listFile) error {
	var after commerce.StatementCursor
	for {
		list, err := s.db.Statements(ctx, v.current.CompanyID, commerce.StatementFilter{}, after, rowsPerRead)
		if err != nil {
			return err
		}
		for _, st := range list {
			opening, total := minorText(st.OpeningMinor, st.Currency), minorText(st.TotalMinor, st.Currency)
			if st.State == commerce.StatementClosing { // not known yet
				opening, total = "", ""
			}
			if err := f.add(st.StatementID, st.InfluencerID, st.Influencer, st.Currency, st.StartDate, st.EndDate, st.State,
				strconv.FormatInt(st.Lines, 10), opening, total,
				strconv.FormatBool(st.Carried), momentText(st.PaidAt), st.Reference); err != nil {
				return err
			}
		}
		if len(list) < rowsPerRead {
			return nil
		}
		after = list[len(list)-1].Cursor()
	}
}

func (s *Server) costsFile(ctx context.Context, _ *http.Request, v pageRequest, f *listFile) error {
	list, err := s.db.AdditionalCosts(ctx, v.current.CompanyID, commerce.CostFilter{}, mostCosts)
	if err != nil {
		return err
	}
	for _, c := range list {
		if err := f.add(c.ID, c.Name, c.Category, minorText(decimal.NewFromInt(c.ValueMinor), commerce.BRL), c.Frequency, c.StartDate,
			c.EndDate); err != nil {
			return err
		}
	}
	return nil
}

// peopleFile lists who may log in, then who is invited.
func (s *Server) peopleFile(ctx context.Context, _ *http.Request, v pageRequest, f *listFile) error {
	members, err := s.db.Members(ctx, v.current.StoreID, mostMembers)
	if err != nil {
		return err
	}
	for _, m := range members {
		if err := f.add(m.PersonID, m.Email, m.Role, momentText(m.LastSeen), ""); err != nil {
			return err
		}
	}
	open, err := s.db.Invitations(ctx, v.current.StoreID, s.now())
	if err != nil {
		return err
	}
	for _, i := range open {
		if i.Reset() { // of somebody who is listed already
			continue
		}
		if err := f.add("", i.Email, i.Role, "", momentText(i.ExpiresAt)); err != nil {
			return err
		}
	}
	return nil
}

// keysFile lists the keys of both environments. What a key ends with is all that is known
// of its text.
func (s *Server) keysFile(ctx context.Context, _ *http.Request, v pageRequest, f *listFile) error {
	for _, environment := range []string{commerce.Live, commerce.Sandbox} {
		company := v.companyOf(environment)
		if company == "" {
			continue
		}
		list, err := s.db.ListAPIKeys(ctx, company, mostKeys)
		if err != nil {
			return err
		}
		for _, k := range list {
			if err := f.add(k.KeyID, k.Name, environment, k.Type, strings.Join(scopeNames(k.Scopes), " "), k.Hint, momentText(k.CreatedAt),
				momentText(k.LastUsedAt),
				momentText(k.ExpiresAt), momentText(k.RevokedAt)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Server) auditFile(ctx context.Context, r *http.Request, v pageRequest, f *listFile) error {
	kind, before := r.URL.Query().Get("kind"), ""
	if kind != "" && !slices.Contains(auditKinds, kind) {
		return errBadAddress
	}
	for {
		list, err := s.db.AuditLog(ctx, v.current.CompanyID, before, kind, rowsPerRead)
		if err != nil {
			return err
		}
		for _, e := range list {
			if err := f.add(e.ID, momentText(e.At), e.Actor, e.Name, e.Action, e.Subject, e.Detail); err != nil {
				return err
			}
		}
		if len(list) < rowsPerRead {
			return nil
		}
		before = list[len(list)-1].ID
	}
}
