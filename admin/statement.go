package admin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/reports"
	"github.com/tributary-io/tributary/internal/uuidtext"
	"github.com/tributary-io/tributary/internal/wire"
)

// Codes of errors about statements.
const (
	codeStatementClosing = "statement_closing"
	codeStatementCarried = "statement_carried"
	codeStatementPaid    = "statement_paid"
	codeStatementUnpaid  = "statement_unpaid"
	codePayingBlocked    = "paying_blocked"
)

// statementRef names a statement, and its state.
type statementRef struct {
	ID           string `json:"id"`
	InfluencerID string `json:"influencer_id"`
	Currency     string `json:"currency"`
	State        string `json:"state"`
}

// statementRecord is a statement as it is read. What only a closed one has is null
// until then.
type statementRecord struct {
	ID           string           `json:"id"`
	Number       *int64           `json:"number"`
	InfluencerID string           `json:"influencer_id"`
	Influencer   string           `json:"influencer"`
	Currency     string           `json:"currency"`
	StartDate    *string          `json:"start_date"`
	EndDate      string           `json:"end_date"`
	State        string           `json:"state"`
	Opening      *commerce.Sum    `json:"opening"`
	Lines        []statementLine  `json:"lines,omitzero"`   // of one statement alone, not in a list
	Parties      *statementOf     `json:"parties,omitzero"` // likewise; null: it is being closed
	LineCount    *int64           `json:"line_count"`
	Total        *commerce.Sum    `json:"total"`
	Carried      *bool            `json:"carried"`
	Minimum      commerce.Amount  `json:"minimum_payout"`
	AskedAt      string           `json:"asked_at"`
	ClosedAt     *string          `json:"closed_at"`
	Payment      *statementPaying `json:"payment"`
	Withheld     []statementTax   `json:"withholdings"`
	Net          *commerce.Sum    `json:"net"`
	Invoice      *string          `json:"invoice"`
}

// statementOf is whom a statement is of.
type statementOf struct {
	Store      statementParty `json:"store"`
	Influencer statementParty `json:"influencer"`
	PixType    *string        `json:"pix_type"`
	PixKey     *string        `json:"pix_key"`
}

type statementParty struct {
	Name     string  `json:"name"`
	Document *string `json:"document"`
}

// statementRate is the agreement by which a line has an amount.
type statementRate struct {
	VarFee   json.Number     `json:"var_fee"` // percent
	FixedFee commerce.Amount `json:"fixed_fee"`
}

type statementLine struct {
	OrderID *string      `json:"orderId"` // null: of no order
	Name    *string      `json:"name"`    // what the shop calls the order
	Of      string       `json:"of"`
	Kind    *string      `json:"kind"`   // of a manual entry
	Reason  *string      `json:"reason"` // likewise
	Date    *string      `json:"date"`   // on which the order was created, or from which the entry counts
	Amount  commerce.Sum `json:"amount"`
	Cause   *string      `json:"cause"` // why it is below zero

	// When the statement was closed: the order's total, what a share of it was computed on, by which agreements, and why it
	// was the influencer's.
	Value    *commerce.Sum   `json:"value"`
	Base     *commerce.Sum   `json:"base"`
	Rates    []statementRate `json:"rates"`
	Evidence *string         `json:"evidence"`
	Coupon   *string         `json:"coupon"`
}

// statementTax is what is withheld of a statement.
type statementTax struct {
	Name   string          `json:"name"`
	Amount commerce.Amount `json:"amount"`
}

type statementPaying struct {
	PaidAt    string `json:"paid_at"`
	Reference string `json:"reference"`
}

// maxStatementLines bounds the lines of one page of a statement; without limit there are
// as many.
const maxStatementLines = 1000

// closeStatements is POST /statements: asks for a statement of each influencer and
// currency. The processor closes them.
func (s *Server) closeStatements(ctx context.Context, _ *http.Request, c caller, o object) (answer, error) {
	asked := commerce.Closing{EndDate: required(o, "end_date", day), InfluencerID: optional(o, "influencer_id", given).Value}
	o.bad.AddAll(asked.Check())
	if err := o.broken(); err != nil {
		return answer{}, err
	}
	list, err := s.deps.Database.AskStatements(ctx, c.author(s.now()), asked, s.random)
	switch {
	case errors.Is(err, commerce.ErrFutureDay):
		return answer{}, o.refuse("end_date", commerce.CodeInvalidDate,
			"is in the future: the last day may be today or before, in the store's time zone")
	case errors.Is(err, commerce.ErrTooManyStatements):
		return answer{}, o.refuse("influencer_id", commerce.CodeTooMany, "is needed: all influencers together make too many statements")
	case err != nil:
		return answer{}, missing(err, notFound("there is no influencer with that id"))
	}
	background.Wake(s.wake)
	refs := make([]statementRef, len(list))
	for i, statement := range list {
		refs[i] = statementRef{statement.StatementID, statement.InfluencerID, statement.Currency, statement.State}
	}
	return answer{data: refs}, nil
}

// payStatement is POST /statements/{id}/payment.
func (s *Server) payStatement(ctx context.Context, r *http.Request, c caller, o object) (answer, error) {
	payment := commerce.StatementPayment{StatementID: strings.ToLower(r.PathValue("id")), PaidAt: required(o, "paid_at", timestamp),
		Reference: required(o, "reference", text)}
	o.bad.AddAll(payment.Check(s.now()))
	if err := o.broken(); err != nil {
		return answer{}, err
	}
	if !uuidtext.Is(payment.StatementID) {
		return answer{}, noStatement()
	}
	return s.answerPaid(ctx, c.companyID, s.deps.Database.PayStatement(ctx, c.author(s.now()), payment))
}

// withhold is PUT /statements/{id}/withholdings.
func (s *Server) withhold(ctx context.Context, r *http.Request, c caller, o object) (answer, error) {
	id := strings.ToLower(r.PathValue("id"))
	statement, err := commerce.Statement{}, commerce.ErrNotFound
	if uuidtext.Is(id) {
		statement, err = s.deps.Database.Statement(ctx, c.companyID, id)
	}
	if statement.Currency == "" { // there is none: what is wrong with the body is told first
		statement.Currency = "BRL"
	}
	withholding := commerce.Withholding{StatementID: id, Invoice: optional(o, "invoice", text).Value}
	for _, part := range required(o, "withholdings", o.list("withholdings", commerce.MostWithheld)) {
		withholding.List = append(withholding.List, wire.Withheld{Name: required(part, "name", text),
			AmountMinor: required(part, "amount", money(statement.Currency))})
	}
	if !o.bad.Any() {
		o.bad.AddAll(withholding.Check(statement.Currency))
	}
	if err := o.broken(); err != nil {
		return answer{}, err
	}
	if err != nil {
		return s.answerPaid(ctx, c.companyID, err)
	}
	err = s.deps.Database.Withhold(ctx, c.author(s.now()), withholding)
	if errors.Is(err, commerce.ErrAboveTotal) {
		return answer{}, o.refuse("withholdings", commerce.CodeOutOfRange, "come to more than the statement's total")
	}
	return s.answerPaid(ctx, c.companyID, err)
}

// undoPayment is DELETE /statements/{id}/payment.
func (s *Server) undoPayment(ctx context.Context, r *http.Request, c caller, o object) (answer, error) {
	undo := commerce.PaymentUndo{StatementID: strings.ToLower(r.PathValue("id")), Reason: required(o, "reason", text)}
	o.bad.AddAll(undo.Check())
	if err := o.broken(); err != nil {
		return answer{}, err
	}
	if !uuidtext.Is(undo.StatementID) {
		return answer{}, noStatement()
	}
	return s.answerPaid(ctx, c.companyID, s.deps.Database.UndoPayment(ctx, c.author(s.now()), undo))
}

// answerPaid answers a request about a payment.
func (s *Server) answerPaid(ctx context.Context, companyID string, err error) (answer, error) {
	switch {
	case errors.Is(err, commerce.ErrNotClosed):
		return answer{}, &problem{status: http.StatusConflict, code: codeStatementClosing,
			message: "the statement is not closed yet; retry in a moment", retryAfter: time.Second}
	case errors.Is(err, commerce.ErrCarried):
		return answer{}, &problem{status: http.StatusConflict, code: codeStatementCarried,
			message: "the statement's total is carried to the influencer's next statement: pay that one"}
	case errors.Is(err, commerce.ErrPaid):
		return answer{}, &problem{status: http.StatusConflict, code: codeStatementPaid,
			message: "the statement is paid already: undo the payment first"}
	case errors.Is(err, commerce.ErrPaidOtherwise):
		return answer{}, &problem{status: http.StatusConflict, code: codeStatementPaid,
			message: "another payment of the statement is recorded already: undo that one first"}
	case errors.Is(err, commerce.ErrNotPaid):
		return answer{}, &problem{status: http.StatusConflict, code: codeStatementUnpaid,
			message: "the statement has no payment that could be undone"}
	case errors.Is(err, commerce.ErrRestored):
		return answer{}, &problem{status: http.StatusConflict, code: codePayingBlocked,
			message: "changes of the store are lost, since the database was restored from a backup: nothing is paid until an owner confirms on " +
				"the dashboard's page Statements"}
	case err != nil:
		return answer{}, missing(err, noStatement())
	}
	return answer{}, s.OnKafka(ctx, companyID)
}

func noStatement() *problem { return notFound("there is no statement with that id") }

// listStatements is GET /statements.
func (s *Server) listStatements(ctx context.Context, r *http.Request, c caller) (answer, error) {
	q := readListQuery(r, commerce.ParseStatementCursor)
	filter := commerce.StatementFilter{InfluencerID: optional(q.object, "influencer_id", given).Value,
		State: optional(q.object, "state", word).Value}
	q.bad.AddAll(filter.Check())
	if err := brokenRules(q.bad); err != nil {
		return answer{}, err
	}
	list, err := s.deps.Database.Statements(ctx, c.companyID, filter, q.after, q.limit+1)
	if err != nil {
		return answer{}, err
	}
	list, paging := pageOf(list, q.limit, func(s commerce.Statement) string { return s.Cursor().String() })
	records := make([]statementRecord, len(list))
	lines := make([][]string, len(list))
	for i := range list {
		list[i] = c.shownStatement(list[i])
		records[i] = recordStatement(&list[i])
		lines[i] = append(statementCells(&records[i]), reports.CSVText(list[i].WithheldText()), cell(records[i].Net),
			reports.CSVText(list[i].Invoice))
	}
	return q.answer(records, paging, append(slices.Clone(statementHeader), "withholdings", "net", "invoice"), lines), nil
}

// getStatement is GET /statements/{id}, with a page of its lines.
func (s *Server) getStatement(ctx context.Context, r *http.Request, c caller) (answer, error) {
	query, id := r.URL.Query(), strings.ToLower(r.PathValue("id"))
	q := readPage(queryObject(query), query, maxStatementLines, maxStatementLines, parseOrderCursor)
	if err := brokenRules(q.bad); err != nil {
		return answer{}, err
	}
	if !uuidtext.Is(id) {
		return answer{}, noStatement()
	}
	statement, err := s.deps.Database.Statement(ctx, c.companyID, id)
	if err != nil {
		return answer{}, missing(err, noStatement())
	}
	statement = c.shownStatement(statement)
	record, paging := recordStatement(&statement), &pagination{}
	record.Lines = []statementLine{}
	var cells [][]string
	if statement.State != commerce.StatementClosing { // what it has while it is closing may still grow
		if !c.forAssistantAlone(account.ReadReports) {
			if record.Parties, err = s.partiesOf(ctx, c, id); err != nil {
				return answer{}, err
			}
		}
		list, err := s.deps.Database.StatementLines(ctx, c.companyID, id, q.after, q.limit+1)
		if err != nil {
			return answer{}, err
		}
		list, paging = pageOf(list, q.limit, func(l commerce.StatementLine) string { return orderCursor(l.OrderID) })
		for i := range list {
			line, row := lineRecord(&list[i], statement.Currency)
			record.Lines, cells = append(record.Lines, line), append(cells, row)
		}
	}
	return q.answer(record, paging, []string{"orderId", "date", "amount", "currency", "base", "cause", "of", "kind", "reason", "name", "value",
		"rate", "evidence", "coupon"}, cells), nil
}

// partiesOf reads whom a closed statement is of, as the caller may see them.
func (s *Server) partiesOf(ctx context.Context, c caller, statementID string) (*statementOf, error) {
	list, err := s.deps.Database.Parties(ctx, c.companyID, []string{statementID})
	if err != nil {
		return nil, err
	}
	p := list[statementID]
	if !c.seesPayees() {
		p = p.Masked()
	}
	return &statementOf{Store: statementParty{p.Store.Name, orNull(p.Store.Document)},
		Influencer: statementParty{p.Influencer.Name, orNull(p.Influencer.Document)}, PixType: orNull(p.Pix.Type), PixKey: orNull(p.Pix.Key)}, nil
}

// lineRecord is a statement's line as it is read, and as a line of a table.
func lineRecord(l *commerce.StatementLine, currency string) (line statementLine, cells []string) {
	of, order := orderOf(l.OrderID)
	amount, base, value := commerce.SumOf(currency)(l.AmountMinor), l.Base(currency), l.Value(currency)
	line = statementLine{OrderID: orNull(order), Name: orNull(l.OrderName), Of: of, Kind: orNull(l.Kind), Reason: orNull(l.Reason),
		Date: orNull(l.Day), Amount: amount, Cause: orNull(l.Cause), Value: value, Base: base, Rates: []statementRate{},
		Evidence: orNull(string(l.Evidence)), Coupon: orNull(l.Coupon)}
	for _, t := range l.Rates() {
		line.Rates = append(line.Rates, statementRate{json.Number(t.VarFee.String()), commerce.Amount{Minor: t.FixedBRLMinor,
			Currency: commerce.BRL}})
	}
	return line, []string{reports.CSVText(order), l.Day, amount.String(), currency, cell(base), l.Cause, of, l.Kind, reports.CSVText(l.Reason),
		reports.CSVText(l.OrderName), cell(value), l.RateText(), string(l.Evidence), reports.CSVText(l.Coupon)}
}

// recordStatement is a statement as it is read, without its lines.
func recordStatement(s *commerce.Statement) statementRecord {
	record := statementRecord{
		ID: s.StatementID, InfluencerID: s.InfluencerID, Influencer: s.Influencer, Currency: s.Currency,
		StartDate: orNull(s.StartDate), EndDate: s.EndDate,
		Withheld: []statementTax{}, Invoice: orNull(s.Invoice), State: s.State,
		Minimum: commerce.Amount{Minor: s.MinimumMinor, Currency: s.Currency}, AskedAt: s.AskedAt.UTC().Format(timestampFormat),
	}
	if !s.ClosedAt.IsZero() {
		sum := commerce.SumOf(s.Currency)
		opening, total, closed := sum(s.OpeningMinor), sum(s.TotalMinor), s.ClosedAt.UTC().Format(timestampFormat)
		net := sum(s.NetMinor())
		record.Opening, record.Total, record.LineCount, record.Carried, record.ClosedAt = &opening, &total, &s.Lines, &s.Carried, &closed
		record.Net = &net
		record.Number = &s.Number
	}
	for _, w := range s.Withheld {
		record.Withheld = append(record.Withheld, statementTax{w.Name, commerce.Amount{Minor: w.AmountMinor, Currency: s.Currency}})
	}
	if !s.PaidAt.IsZero() {
		record.Payment = &statementPaying{s.PaidAt.UTC().Format(timestampFormat), s.Reference}
	}
	return record
}

var statementHeader = []string{"id", "influencer_id", "influencer", "currency", "start_date", "end_date", "state", "opening",
	"line_count", "total", "carried",
	"minimum_payout", "asked_at", "closed_at", "paid_at", "reference", "number"}

// statementCells is a statement as a line of a table.
func statementCells(s *statementRecord) []string {
	paid := statementPaying{}
	if s.Payment != nil {
		paid = *s.Payment
	}
	return []string{s.ID, s.InfluencerID, reports.CSVText(s.Influencer), s.Currency, cell(s.StartDate), s.EndDate, s.State, cell(s.Opening),
		cell(s.LineCount), cell(s.Total), cell(s.Carried), commerce.FormatMinor(s.Minimum.Minor, s.Currency), s.AskedAt, cell(s.ClosedAt),
		paid.PaidAt, reports.CSVText(paid.Reference), cell(s.Number)}
}
