package replay

import (
	"bytes"
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/upkeep"
)

// statementTables are a company's statements, with their payments and the ledger entries
// that they have. They are facts: which entries there were when a statement was closed
// does not follow from the other facts. What is owed beside them is computed: the
// entries that are in no statement are the difference.
var statementTables = []ruleTable{
	{name: "statement", columns: `statement_id, rev, influencer_id, currency, end_date, minimum_minor, asked_at, actor, closed_at, number,
		start_date, opening_minor, total_minor, entries, lines, carried, run_id, digest, summed`},
	{name: "statement_party", columns: `statement_id, store_name, store_document, name, document, pix_type, pix_key, pix_at, pix_by`},
	{name: "statement_payment", columns: `statement_id, rev, paid_at, reference, recorded_at, actor, undone_rev, undone_at,
		undone_by, undo_reason`},
	{name: "statement_withholding", columns: `statement_id, rev, list, total_minor, invoice, at, actor`},
	{name: "ledger_entry", where: "statement_id is not null",
		columns: `order_id, entry, at, kind, influencer_id, campaign_id, cost_id, amount_minor, currency,
		reverses, rule_rev, cause, payable_on, statement_id, day, base_minor, order_name, value_minor, var_fee, fixed_brl_minor, evidence,
		coupon_code`},
}

// evidenceTables are the evidence of orders whose events are removed, whether orders beside
// erased ones are first, and how far removals have come.
var evidenceTables = []ruleTable{
	{name: "evidence_snapshot", columns: `order_id, snapshot_at, body`},
	{name: "erasure", columns: `erasure_id, rev, asked_at, actor, kinds, phase, orders, events, done_at`},
	{name: "snapshot_first", columns: `order_id, is_first_order`},
	{name: "retention", columns: `begun_until, nonconverting_from, done_until, done_at`},
}

// CopyEvidence copies a company's evidence from the database's snapshot into a fresh schema, before facts are
// applied to it.
func (s *Snapshot) CopyEvidence(ctx context.Context, companyID string, to *Schema) error {
	return s.copyTables(ctx, companyID, "snapshots", evidenceTables, to)
}

// CopyStatements copies a company's statements from the snapshot into a fresh schema,
// before facts are applied to it.
func (s *Snapshot) CopyStatements(ctx context.Context, companyID string, to *Schema) error {
	return s.copyTables(ctx, companyID, "statements", statementTables, to)
}

// copyTables copies a company's rows of tables in one transaction.
func (s *Snapshot) copyTables(ctx context.Context, companyID, what string, tables []ruleTable, to *Schema) error {
	err := to.DB.InTx(ctx, func(tx pgx.Tx) error {
		for _, t := range tables {
			if err := s.copyTable(ctx, companyID, t, tx); err != nil {
				return fmt.Errorf("table %s: %w", t.name, err)
			}
		}
		return nil
	})
	return postgres.Wrapf(err, "postgres: copy the %s of %s", what, companyID)
}

// AlteredStatement is a closed statement that has not the entries and the parties with which it was
// closed.
type AlteredStatement struct {
	CompanyID   string `json:"company_id"`
	StatementID string `json:"statement_id"`
}

// AlteredStatements sums the entries of each closed statement again. It returns how many
// statements there are, and those that differ, the first most of them.
func (s *Snapshot) AlteredStatements(ctx context.Context, most int) (statements int, altered []AlteredStatement, err error) {
	for _, company := range s.Companies {
		goOn := pages(statementsPerPage, func(after *closedStatement) ([]closedStatement, error) {
			return s.closedStatements(ctx, company, after)
		},
			func(page []closedStatement, failed error) bool {
				if err = failed; err != nil {
					return false
				}
				for _, c := range page {
					sum, failed := upkeep.SumAll(ctx, s.tx, company, c.id)
					if err = failed; err != nil {
						return false
					}
					same := bytes.Equal(sum.DigestWith(c.parties), c.digest) && sum.Amount.Equal(c.amount)
					if !same && len(altered) < most {
						altered = append(altered, AlteredStatement{company, c.id})
					}
				}
				statements += len(page)
				return true
			})
		if !goOn {
			return 0, nil, fmt.Errorf("postgres: statements of %s: %w", company, postgres.Translate(err))
		}
	}
	return statements, altered, nil
}

// statementsPerPage is how many statements are read together.
const statementsPerPage = 500

// closedStatement is what a statement says of its entries.
type closedStatement struct {
	id      string
	amount  decimal.Decimal // their sum
	digest  []byte          // of them and the parties
	parties commerce.Parties
}

// closedColumns are of statements (s) with their parties (y).
func closedColumns(c *closedStatement) postgres.Columns {
	return append(postgres.Columns{
		postgres.Into("s.statement_id::text", &c.id),
		postgres.Into("s.total_minor - s.opening_minor", &c.amount),
		postgres.Into("s.digest", &c.digest),
	}, postgres.PartyColumns(&c.parties)...)
}

func (s *Snapshot) closedStatements(ctx context.Context, companyID string, after *closedStatement) ([]closedStatement, error) {
	id := after.id
	if id == "" {
		id = noID
	}
	return postgres.Collect(ctx, s.tx, postgres.Scan(closedColumns), `
		select `+postgres.List(closedColumns)+`
		from statement s left join statement_party y on y.company_id = s.company_id and y.statement_id = s.statement_id
		where s.company_id = @company_id and s.closed_at is not null and s.statement_id > @after::uuid
		order by s.statement_id limit @most`, pgx.NamedArgs{"company_id": companyID, "after": id, "most": statementsPerPage})
}
