package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/reports"
)

// balanceRecord is what one influencer has in one currency.
type balanceRecord struct {
	InfluencerID string       `json:"influencer_id"`
	Influencer   string       `json:"influencer"`
	Currency     string       `json:"currency"`
	Expected     commerce.Sum `json:"expected"`
	Review       commerce.Sum `json:"review"`
	Held         commerce.Sum `json:"held"`
	Payable      commerce.Sum `json:"payable"`
	Paid         commerce.Sum `json:"paid"`
	Withheld     commerce.Sum `json:"withheld"`
}

// listPayouts is GET /payouts.
func (s *Server) listPayouts(ctx context.Context, r *http.Request, c caller) (answer, error) {
	q := readListQuery(r, commerce.ParseBalanceCursor)
	if err := brokenRules(q.bad); err != nil {
		return answer{}, err
	}
	_, today, err := s.deps.Database.Today(ctx, c.companyID, s.now())
	if err != nil {
		return answer{}, err
	}
	list, err := s.deps.Database.Balances(ctx, c.companyID, today, q.after, q.limit+1)
	if err != nil {
		return answer{}, err
	}
	list, paging := pageOf(list, q.limit, func(b commerce.Balance) string { return b.Cursor().String() })
	records := make([]balanceRecord, len(list))
	lines := make([][]string, len(list))
	for i, b := range list {
		sum := commerce.SumOf(b.Currency)
		records[i] = balanceRecord{b.InfluencerID, b.Influencer, b.Currency, sum(b.ExpectedMinor), sum(b.ReviewMinor), sum(b.HeldMinor),
			sum(b.PayableMinor), sum(b.PaidMinor), sum(b.WithheldMinor)}
		lines[i] = []string{b.InfluencerID, reports.CSVText(b.Influencer), b.Currency}
		for _, amount := range []commerce.Sum{records[i].Expected, records[i].Review, records[i].Held, records[i].Payable, records[i].Paid,
			records[i].Withheld} {
			lines[i] = append(lines[i], amount.String())
		}
	}
	return q.answer(records, paging,
		[]string{"influencer_id", "influencer", "currency", "expected", "review", "held", "payable", "paid", "withheld"}, lines), nil
}

// entryRecord is one entry of the ledger.
type entryRecord struct {
	EntryID      string          `json:"entry_id"`
	OrderID      *string         `json:"orderId"` // null: of no order
	Of           string          `json:"of"`
	Reason       *string         `json:"reason"` // of a manual entry
	InfluencerID string          `json:"influencer_id"`
	Influencer   string          `json:"influencer"`
	CostID       string          `json:"cost_id"`
	Kind         string          `json:"kind"`
	Reverses     *string         `json:"reverses"`
	Amount       commerce.Amount `json:"amount"`
	Currency     string          `json:"currency"`
	At           string          `json:"at"`
	PayableOn    string          `json:"payable_on"`
	State        string          `json:"state"`
	StatementID  *string         `json:"statement_id"`
	Cause        string          `json:"cause"`
}

// listLedger is GET /ledger.
func (s *Server) listLedger(ctx context.Context, r *http.Request, c caller) (answer, error) {
	q := readListQuery(r, commerce.ParseLedgerCursor)
	filter := commerce.LedgerFilter{InfluencerID: optional(q.object, "influencer_id", given).Value,
		State: optional(q.object, "state", word).Value, Of: optional(q.object, "of", word).Value,
		From: optional(q.object, "start_date", day).Value, To: optional(q.object, "end_date", day).Value}
	q.bad.AddAll(filter.Check())
	if err := brokenRules(q.bad); err != nil {
		return answer{}, err
	}
	list, err := s.deps.Database.Ledger(ctx, c.companyID, s.now(), filter, q.after, q.limit+1)
	if err != nil {
		return answer{}, err
	}
	list, paging := pageOf(list, q.limit, func(i commerce.LedgerItem) string { return i.Cursor().String() })
	records := make([]entryRecord, len(list))
	lines := make([][]string, len(list))
	for i, e := range list {
		of, order := orderOf(e.OrderID)
		records[i] = entryRecord{
			EntryID: e.EntryID(), OrderID: orNull(order), Of: of, Reason: orNull(e.Reason), InfluencerID: e.InfluencerID,
			Influencer: e.Influencer, CostID: e.CostID, Kind: e.Kind,
			Reverses: orNull(e.ReversesID()),
			Amount:   commerce.Amount{Minor: e.AmountMinor, Currency: e.Currency}, Currency: e.Currency, At: e.At.UTC().Format(timestampFormat),
			PayableOn: e.PayableOn, State: e.State, StatementID: orNull(e.StatementID), Cause: e.Cause,
		}
		lines[i] = []string{reports.CSVText(e.EntryID()), reports.CSVText(order), e.InfluencerID, reports.CSVText(e.Influencer), e.CostID,
			e.Kind, reports.CSVText(e.ReversesID()),
			commerce.FormatMinor(e.AmountMinor, e.Currency), e.Currency, records[i].At, e.PayableOn, e.State, e.StatementID, e.Cause, of,
			reports.CSVText(e.Reason)}
	}
	return q.answer(records, paging,
		[]string{"entry_id", "orderId", "influencer_id", "influencer", "cost_id", "kind", "reverses", "amount", "currency", "at",
			"payable_on", "state",
			"statement_id", "cause", "of", "reason"}, lines), nil
}

// orderOf returns of what an entry or a line is, one of commerce.LedgerSubjects, and the order's id; "": it is of none.
func orderOf(account string) (of, orderID string) {
	of, id := commerce.SplitAccount(account)
	if of != commerce.OfOrder {
		id = ""
	}
	return of, id
}

// listQuery is the query of a list: its pages, and how it is written.
type listQuery[C any] struct {
	object
	limit int
	after C // the zero value: the first page
	asCSV bool
}

// readListQuery reads limit, cursor and format of a list. What is wrong is in bad.
func readListQuery[C any](r *http.Request, parse func(text string) (C, error)) listQuery[C] {
	query := r.URL.Query()
	return readPage(queryObject(query), query, defaultListed, maxListed, parse)
}

// readPage is readListQuery where something else of the query was read before. usual is the limit where none is given.
func readPage[C any](o object, query url.Values, usual, most int, parse func(text string) (C, error)) listQuery[C] {
	q := listQuery[C]{object: o, limit: usual}
	if query.Has("limit") {
		q.limit = readLimit(query, most, q.bad)
	}
	if query.Has("cursor") {
		var err error
		if q.after, err = parse(query.Get("cursor")); err != nil {
			q.bad.Add("cursor", commerce.CodeInvalidValue, "must be a next_cursor of an earlier page")
		}
	}
	q.asCSV = readFormat(q.object)
	return q
}

// pageOf cuts a list that was read with one more than limit to a page. cursor is the
// place after an element.
func pageOf[T any](list []T, limit int, cursor func(T) string) ([]T, *pagination) {
	if len(list) <= limit {
		return list, &pagination{}
	}
	next := cursor(list[limit-1])
	return list[:limit], &pagination{HasMore: true, NextCursor: &next}
}

// answer is a page as it was asked for.
func (q listQuery[C]) answer(records any, paging *pagination, header []string, lines [][]string) answer {
	a := answer{data: records, pagination: paging}
	if q.asCSV {
		a.csv = reports.WriteCSV(header, lines)
	}
	return a
}

// orderCursor is a place in a list that goes by order id, in base64.
func orderCursor(orderID string) string { return commerce.ProductCursor{ProductID: orderID}.String() }

func parseOrderCursor(text string) (string, error) {
	c, err := commerce.ParseProductCursor(text)
	if err == nil && c.ProductID == "" {
		err = fmt.Errorf("%.40q %w", text, commerce.ErrBadCursor)
	}
	return c.ProductID, err
}
