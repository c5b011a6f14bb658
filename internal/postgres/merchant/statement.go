package merchant

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
)

// mostStatements bounds the statements that are asked for at once.
const mostStatements = 10_000

var newStatements = postgres.Rows[commerce.Statement]{
	postgres.Col("statement_id", "uuid", func(s *commerce.Statement) string { return s.StatementID }),
	postgres.Col("influencer_id", "uuid", func(s *commerce.Statement) string { return s.InfluencerID }),
	postgres.Col("currency", "text", func(s *commerce.Statement) string { return s.Currency }),
	postgres.Col("minimum_minor", "bigint", func(s *commerce.Statement) int64 { return s.MinimumMinor }),
}

// AskStatements asks for a statement of each influencer and currency that has something
// to close up to a day: entries in no statement, or a total that was carried and reaches
// the minimum payout now. Where one up to that day is closing already, that is the one.
// The processor closes them. Errors: commerce.ErrNotFound for an unknown influencer,
// commerce.ErrFutureDay, commerce.ErrTooManyStatements.
func (s *Store) AskStatements(ctx context.Context, author commerce.Author, asked commerce.Closing,
	random io.Reader) (list []commerce.Statement, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		// The lock on the company's row: two who ask at once come one after the other.
		if err := lockCompany(ctx, tx, author.CompanyID); err != nil {
			return err
		}
		minimum, err := closingDay(ctx, tx, author, asked)
		if err != nil {
			return err
		}
		if list, err = toClose(ctx, tx, author.CompanyID, asked, minimum); err != nil {
			return err
		}
		if !slices.ContainsFunc(list, func(s commerce.Statement) bool { return s.StatementID == "" }) {
			return nil // there are none to make
		}
		rev, now, _, err := bumpAny(ctx, tx, author.CompanyID)
		if err != nil {
			return err
		}
		return askFor(ctx, tx, Change{CompanyID: author.CompanyID, Rev: rev, At: now, Actor: author.Actor}, asked.EndDate, list, random)
	})
	return list, postgres.Wrapf(err, "postgres: ask for statements")
}

// PreviewStatements returns the statements that AskStatements would make, with their totals and whether they are carried,
// as the ledger is now; those that are closing already are not among them. Errors as AskStatements.
func (s *Store) PreviewStatements(ctx context.Context, author commerce.Author,
	asked commerce.Closing) (list []commerce.Statement, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		minimum, err := closingDay(ctx, tx, author, asked)
		if err != nil {
			return err
		}
		if list, err = toClose(ctx, tx, author.CompanyID, asked, minimum); err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(s commerce.Statement) bool { return s.StatementID != "" })
		return previewTotals(ctx, tx, author.CompanyID, asked.EndDate, list)
	})
	return list, postgres.Wrapf(err, "postgres: preview statements")
}

// previewTotals fills in what statements up to a day would have, and their influencers' names.
func previewTotals(ctx context.Context, tx pgx.Tx, companyID, endDate string, list []commerce.Statement) error {
	type key struct{ influencerID, currency string }
	found, err := postgres.Collect(ctx, tx, func(row pgx.CollectableRow) (s commerce.Statement, err error) {
		return s, row.Scan(&s.InfluencerID, &s.Currency, &s.OpeningMinor, &s.TotalMinor, &s.Influencer)
	}, `
		select x.influencer_id::text, x.currency, sum(x.opening), sum(x.opening + x.amount), coalesce(min(i.name), '')
		from (
			select influencer_id, currency, amount_minor::numeric as amount, 0::numeric as opening from ledger_entry
			where company_id = @company_id and statement_id is null and payable_on <= @end_date::date
			and not `+postgres.SetAsideAtEnd+`
			union all
			select influencer_id, currency, 0, total_minor from (
				select influencer_id, currency, total_minor, carried,
				row_number() over (partition by influencer_id, currency order by rev desc) as place
				from statement where company_id = @company_id and closed_at is not null) last
			where place = 1 and carried) x
		left join influencer i on i.company_id = @company_id and i.influencer_id = x.influencer_id
		group by x.influencer_id, x.currency`, pgx.NamedArgs{"company_id": companyID, "end_date": endDate})
	if err != nil {
		return err
	}
	totals := make(map[key]commerce.Statement, len(found))
	for _, s := range found {
		totals[key{s.InfluencerID, s.Currency}] = s
	}
	for i := range list {
		s := &list[i]
		of := totals[key{s.InfluencerID, s.Currency}]
		s.Influencer, s.OpeningMinor, s.TotalMinor = of.Influencer, of.OpeningMinor, of.TotalMinor
		s.Carried = commerce.IsCarried(s.TotalMinor, s.MinimumMinor)
	}
	return nil
}

// minimumPayout is the least total that is paid, in minor units of the store's currency.
type minimumPayout struct {
	currency string
	minor    int64
}

// closingDay checks what is asked for, and returns the company's minimum payout.
func closingDay(ctx context.Context, tx pgx.Tx, author commerce.Author, asked commerce.Closing) (m minimumPayout, err error) {
	var timezone string
	var units decimal.Decimal
	if err := tx.QueryRow(ctx, `select timezone, currency, minimum_payout from company where company_id = $1`, author.CompanyID).
		Scan(&timezone, &m.currency, &units); err != nil {
		return m, err
	}
	zone, err := time.LoadLocation(timezone)
	if err != nil {
		return m, fmt.Errorf("time zone: %w", err)
	}
	if asked.EndDate > author.At.In(zone).Format(time.DateOnly) {
		return m, commerce.ErrFutureDay
	}
	digits, err := commerce.Exponent(m.currency)
	if err != nil {
		return m, err
	}
	m.minor = units.Shift(int32(digits)).Ceil().IntPart()
	if asked.InfluencerID == "" {
		return m, nil
	}
	return m, postgres.Hit(ctx, tx, `select 1 from influencer where company_id = @company_id and influencer_id = @influencer_id`,
		pgx.NamedArgs{"company_id": author.CompanyID, "influencer_id": asked.InfluencerID})
}

// toClose returns the statements to make, without an id, and those that are closing
// already.
func toClose(ctx context.Context, tx pgx.Tx, companyID string, asked commerce.Closing,
	minimum minimumPayout) ([]commerce.Statement, error) {
	list, err := postgres.Collect(ctx, tx, func(row pgx.CollectableRow) (s commerce.Statement, err error) {
		s.EndDate, s.State = asked.EndDate, commerce.StatementClosing
		return s, row.Scan(&s.InfluencerID, &s.Currency, &s.StatementID)
	}, `
		select due.influencer_id::text, due.currency, coalesce(min(c.statement_id::text), '')
		from (
			select influencer_id, currency from ledger_entry
			where company_id = @company_id and statement_id is null and payable_on <= @end_date::date
			and not `+postgres.SetAsideAtEnd+`
			and (@influencers::uuid[] is null or influencer_id = any(@influencers))
			group by influencer_id, currency
			union
			select influencer_id, currency from (
				select influencer_id, currency, carried, total_minor,
				row_number() over (partition by influencer_id, currency order by rev desc) as place
				from statement where company_id = @company_id and (@influencers::uuid[] is null or influencer_id = any(@influencers))) last
			where place = 1 and carried and total_minor > 0 and total_minor >= case when currency = @currency then @minimum::bigint else 0 end) due
		left join statement c on c.company_id = @company_id and c.influencer_id = due.influencer_id and c.currency = due.currency
			and c.closed_at is null and c.end_date >= @end_date::date
		group by due.influencer_id, due.currency order by due.influencer_id, due.currency limit @most`,
		pgx.NamedArgs{"company_id": companyID, "end_date": asked.EndDate, "influencers": asked.Of(),
			"currency": minimum.currency, "minimum": minimum.minor, "most": mostStatements + 1})
	if err == nil && len(list) > mostStatements {
		err = commerce.ErrTooManyStatements
	}
	for i := range list {
		if list[i].Currency == minimum.currency {
			list[i].MinimumMinor = minimum.minor
		}
	}
	return list, err
}

// askFor gives ids to the statements that have none, and stores those with their records.
func askFor(ctx context.Context, tx pgx.Tx, change Change, endDate string, list []commerce.Statement, random io.Reader) error {
	var made []commerce.Statement
	var records outboxBatch
	for i := range list {
		if list[i].StatementID != "" {
			continue
		}
		id, err := uuid.NewV7FromReader(random)
		if err != nil {
			return err
		}
		list[i].StatementID = id.String()
		record, err := commerceRecord(change, wire.KindStatement, id.String(),
			wire.Statement{StatementID: id.String(), InfluencerID: list[i].InfluencerID,
				Currency: list[i].Currency, EndDate: endDate, MinimumMinor: list[i].MinimumMinor})
		if err != nil {
			return err
		}
		if err := records.add(wire.TopicCommerce, change.CompanyID, record); err != nil {
			return err
		}
		made = append(made, list[i])
	}
	if len(made) == 0 {
		return nil
	}
	if err := insertAll(ctx, tx, len(made), `
		insert into statement (company_id, statement_id, rev, influencer_id, currency, end_date, minimum_minor, asked_at, actor)
		select @company_id, statement_id, @rev::bigint, influencer_id, currency, @end_date::date, minimum_minor, @now::timestamptz, @actor
			from `+newStatements.Unnest("s")+`
		on conflict (company_id, statement_id) do nothing returning statement_id`,
		newStatements.Args(made,
			pgx.NamedArgs{"company_id": change.CompanyID, "rev": change.Rev, "end_date": endDate, "now": change.At, "actor": change.Actor})); err !=
		nil {
		return err
	}
	if err := records.insert(ctx, atOnce{tx}); err != nil {
		return err
	}
	change.Action, change.Subject = "statement.close", endDate
	change.Detail = map[string]any{"statements": len(made)}
	return audit(ctx, tx, change)
}

// LinkNumber returns the number with which links to a statement are made now: how often
// they were revoked. The audit log says who made one. With revoke it is one more from now on, so that links of before do
// not work any more. An unknown statement is commerce.ErrNotFound.
func (s *Store) LinkNumber(ctx context.Context, author commerce.Author, statementID string, revoke bool) (number int64, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"company_id": author.CompanyID, "statement_id": statementID}
		if err := postgres.Hit(ctx, tx, `select 1 from statement where company_id = @company_id and statement_id = @statement_id`,
			args); err != nil {
			return err
		}
		if !revoke {
			err := tx.QueryRow(ctx,
				`select revoked from statement_link where company_id = @company_id and statement_id = @statement_id`, args).Scan(&number)
			if err != nil && !errors.Is(err, pgx.ErrNoRows) {
				return err
			}
			return audit(ctx, tx, Change{CompanyID: author.CompanyID, Actor: author.Actor, Action: "statement.link", Subject: statementID})
		}
		if err := tx.QueryRow(ctx, `
			insert into statement_link as l (company_id, statement_id, revoked) values (@company_id, @statement_id, 1)
			on conflict (company_id, statement_id) do update set revoked = l.revoked + 1 returning revoked`, args).Scan(&number); err != nil {
			return err
		}
		return audit(ctx, tx, Change{CompanyID: author.CompanyID, Actor: author.Actor, Action: "statement.revoke_links", Subject: statementID})
	})
	return number, postgres.Wrapf(err, "postgres: links of statement %s", statementID)
}
