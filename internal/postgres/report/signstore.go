package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/fraud"
	"github.com/tributary-io/tributary/internal/postgres"
)

// This file keeps reports of signs, so that each is read once from the orders, however many
// look at it, and is ready when somebody does.

const (
	// fewOrders is up to how many orders a report is made anew as soon as one has come: that
	// takes about 0.1 s.
	fewOrders = 2_000
	// signsAge is how old a report of more orders may be, though orders have come since.
	signsAge = 10 * time.Minute
	// signsRenewed is from what age on the job makes it anew.
	signsRenewed = 5 * time.Minute
	// signsLife is how long a report is kept though no order has come: visits may have.
	signsLife = 24 * time.Hour
	// signsAsked is for how long after it was asked for a report is made anew by the job.
	signsAsked = 24 * time.Hour
	// lookAgain is how often it is looked whether a report is made that RenewSigns makes.
	lookAgain = 250 * time.Millisecond
	// wantTimeout bounds the storing of what RenewSigns is to make.
	wantTimeout = 2 * time.Second
	// askedEvery is how often it is stored that a report is asked for.
	askedEvery = time.Minute
	// mostSignReports bounds the reports that are kept of a company, those asked for last.
	mostSignReports = 12
)

// signsMark is what a report depends on, but visits: it stays while no order and no rule
// has changed.
type signsMark struct {
	orders time.Time // when the newest of the company's orders was computed; zero: there are none
	rules  int64     // revision
}

// newestComputed is the SQL of signsMark.orders.
const newestComputed = `(select o.processed_at from payout o where o.company_id = @company_id and o.processed_at > '-infinity' order by ` +
	`o.processed_at desc limit 1)`

// shows reports whether a report of so many orders may be shown that was made some time ago
// by this mark, where the mark is another one now. oldest bounds its age where it differs.
func (m signsMark) shows(now signsMark, age time.Duration, orders int, oldest time.Duration) bool {
	if m.rules == now.rules && m.orders.Equal(now.orders) {
		return age <= signsLife
	}
	return orders > fewOrders && age <= oldest
}

// Signs returns the signs in a company's orders of some days, YYYY-MM-DD in the store's
// time zone, as of a moment ago. One report is made at a time: it needs more of the
// database and of memory than all else. Where ctx ends before the report is made,
// RenewSigns makes it, and the error is fraud.ErrBeingMade.
func (r *Reader) Signs(ctx context.Context, companyID, from, to string) (*fraud.Report, error) {
	report, err := r.signs(ctx, companyID, from, to)
	if err != nil && ctx.Err() != nil {
		storing, cancel := context.WithTimeout(context.WithoutCancel(ctx), wantTimeout)
		defer cancel()
		if err = r.wantSigns(storing, companyID, from, to); err == nil {
			return nil, fraud.ErrBeingMade
		}
	}
	return report, postgres.Wrapf(postgres.Translate(err), "postgres: signs of %s", companyID)
}

// signs returns a report that is kept, or makes it. One that RenewSigns is to make already
// is awaited instead: who may not wait for long enough must not begin it again.
func (r *Reader) signs(ctx context.Context, companyID, from, to string) (*fraud.Report, error) {
	_, limited := ctx.Deadline()
	for {
		report, wanted, err := r.storedSigns(ctx, companyID, from, to)
		if report != nil || err != nil {
			return report, err
		}
		if !wanted || !limited {
			break
		}
		if !background.Sleep(ctx, lookAgain) {
			return nil, ctx.Err()
		}
	}
	select {
	case r.signing <- struct{}{}:
		defer func() { <-r.signing }()
	case <-ctx.Done():
		return nil, fmt.Errorf("another report of signs is being made: %w", ctx.Err())
	}
	// The one who was before may have made it.
	if report, _, err := r.storedSigns(ctx, companyID, from, to); report != nil || err != nil {
		return report, err
	}
	return r.makeSigns(ctx, companyID, from, to, true)
}

// wantSigns lets RenewSigns make a report that is not kept, at once.
func (r *Reader) wantSigns(ctx context.Context, companyID, from, to string) error {
	if _, err := r.db.Pool().Exec(ctx, `
		insert into sign_report as s (company_id, start_date, end_date, asked_at, as_of, rules_rev, body)
		values (@company_id, @from::date, @to::date, now(), '-infinity', 0, '')
		on conflict (company_id, start_date, end_date) do update set asked_at = excluded.asked_at, as_of = excluded.as_of`,
		pgx.NamedArgs{"company_id": companyID, "from": from, "to": to}); err != nil {
		return err
	}
	if err := r.forgetSigns(ctx, companyID); err != nil {
		return err
	}
	if _, err := r.db.Pool().Exec(ctx, `
		insert into sign_job as j (company_id, asked_at, done_at) values (@company_id, now(), '-infinity')
		on conflict (company_id) do update set asked_at = excluded.asked_at, done_at = excluded.done_at`,
		pgx.NamedArgs{"company_id": companyID}); err != nil {
		return err
	}
	select {
	case r.wanted <- struct{}{}:
	default: // it is told already
	}
	return nil
}

// SignsWanted tells that RenewSigns has a report to make for which somebody waits.
func (r *Reader) SignsWanted() <-chan struct{} { return r.wanted }

// forgetSigns keeps of a company's reports those that were asked for last.
func (r *Reader) forgetSigns(ctx context.Context, companyID string) error {
	_, err := r.db.Pool().Exec(ctx, `
		delete from sign_report where company_id = @company_id and (start_date, end_date) in (
			select start_date, end_date from sign_report where company_id = @company_id
			order by asked_at desc, end_date desc, start_date offset @most)`,
		pgx.NamedArgs{"company_id": companyID, "most": mostSignReports})
	return err
}

// storedSigns returns a report that is kept and may be shown; nil: there is none. wanted:
// RenewSigns is to make it.
func (r *Reader) storedSigns(ctx context.Context, companyID, from, to string) (found *fraud.Report, wanted bool, err error) {
	var report fraud.Report
	var mark, now signsMark
	var at, askedAt time.Time
	var asOf pgtype.Timestamptz
	var body []byte
	err = r.db.Pool().QueryRow(ctx, `
		select s.body, s.orders_at, s.rules_rev, c.rules_rev, now(), s.as_of, s.asked_at,
			`+newestComputed+`
		from sign_report s join company c on c.company_id = @company_id
		where s.company_id = @company_id and s.start_date = @from::date and s.end_date = @to::date`,
		pgx.NamedArgs{"company_id": companyID, "from": from, "to": to}).
		Scan(&body, postgres.ZeroIfNull(&mark.orders), &mark.rules, &now.rules, &at, &asOf, &askedAt, postgres.ZeroIfNull(&now.orders))
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	case asOf.InfinityModifier != pgtype.Finite:
		return nil, true, nil
	}
	if err := json.Unmarshal(body, &report); err != nil {
		return nil, false, err
	}
	if !mark.shows(now, at.Sub(asOf.Time), report.Orders, signsAge) {
		return nil, false, nil // it is too old
	}
	if at.Sub(askedAt) > askedEvery {
		err = r.askSigns(ctx, companyID, from, to)
	}
	return &report, false, err
}

// askSigns stores that a report was asked for, and that the company's are to be made anew.
func (r *Reader) askSigns(ctx context.Context, companyID, from, to string) error {
	if _, err := r.db.Pool().Exec(ctx, `
		update sign_report set asked_at = now() where company_id = @company_id and start_date = @from::date and end_date = @to::date`,
		pgx.NamedArgs{"company_id": companyID, "from": from, "to": to}); err != nil {
		return err
	}
	_, err := r.db.Pool().Exec(ctx, `
		insert into sign_job as j (company_id, asked_at, done_at) values (@company_id, now(), now())
		on conflict (company_id) do update set asked_at = excluded.asked_at`, pgx.NamedArgs{"company_id": companyID})
	return err
}

// makeSigns makes a report and keeps it. asked: somebody waits for it.
func (r *Reader) makeSigns(ctx context.Context, companyID, from, to string, asked bool) (*fraud.Report, error) {
	report, mark, err := r.readSigns(ctx, companyID, from, to)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(report)
	if err != nil {
		return nil, err
	}
	args := pgx.NamedArgs{"company_id": companyID, "from": from, "to": to, "as_of": report.AsOf, "orders_at": postgres.NullIfZero(mark.orders),
		"rules_rev": mark.rules,
		"body":      body}
	if err := r.db.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `
			insert into sign_report as s (company_id, start_date, end_date, asked_at, as_of, orders_at, rules_rev, body)
			values (@company_id, @from::date, @to::date, @as_of, @as_of, @orders_at, @rules_rev, @body)
			on conflict (company_id, start_date, end_date)
				do update set as_of = excluded.as_of, orders_at = excluded.orders_at, rules_rev = excluded.rules_rev, body = excluded.body
				where s.as_of < excluded.as_of`, args); err != nil {
			return err
		}
		return tellLeaks(ctx, tx, companyID, from, to, report)
	}); err != nil {
		return nil, err
	}
	if !asked {
		return report, nil
	}
	if err := r.forgetSigns(ctx, companyID); err != nil {
		return nil, err
	}
	return report, r.askSigns(ctx, companyID, from, to)
}

// RenewSigns makes anew the reports of signs that were asked for lately and are not as new
// as the orders, one after the other: of the next companies, at most limit, that are due.
// More than one process may call it.
func (r *Reader) RenewSigns(ctx context.Context, limit int) error {
	err := r.renewNext(ctx, limit)
	if leaks := r.lookForLeaks(ctx, limit); leaks != nil { // afterwards, and in any case: nobody waits for these
		err = errors.Join(err, fmt.Errorf("postgres: leaks to tell of: %w", postgres.Translate(leaks)))
	}
	return err
}

func (r *Reader) renewNext(ctx context.Context, limit int) error {
	for range limit {
		company, err := r.nextSigns(ctx)
		if err != nil || company == "" {
			return err
		}
		if err := r.renewSignsOf(ctx, company); err != nil {
			return fmt.Errorf("postgres: signs of %s: %w", company, postgres.Translate(err))
		}
	}
	return nil
}

// nextSigns returns a company whose reports are due, and lets it be due again later; "":
// none is.
func (r *Reader) nextSigns(ctx context.Context) (company string, err error) {
	err = r.db.Pool().QueryRow(ctx, `
		update sign_job j set done_at = now() where j.company_id in (
			select company_id from sign_job where asked_at > now() - @asked::interval and done_at < now() - @renewed::interval
			order by done_at limit 1 for update skip locked)
		returning j.company_id`, pgx.NamedArgs{"asked": signsAsked, "renewed": signsRenewed}).Scan(&company)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return company, postgres.Wrapf(postgres.Translate(err), "postgres: reports of signs that are due")
}

// renewSignsOf makes a company's reports anew that were asked for lately and are not as new
// as its orders.
func (r *Reader) renewSignsOf(ctx context.Context, companyID string) error {
	type days struct{ from, to string }
	list, err := postgres.Collect(ctx, r.db.Pool(), func(row pgx.CollectableRow) (d days, err error) {
		return d, row.Scan(postgres.Day(&d.from), postgres.Day(&d.to))
	}, `
		select s.start_date, s.end_date from sign_report s join company c on c.company_id = @company_id
		where s.company_id = @company_id and s.asked_at > now() - @asked::interval
			and (s.rules_rev <> c.rules_rev or s.as_of < now() - @life::interval or s.orders_at is distinct from `+newestComputed+`)
		order by s.asked_at desc`, pgx.NamedArgs{"company_id": companyID, "asked": signsAsked, "life": signsLife / 2})
	if err != nil {
		return err
	}
	for _, d := range list {
		if err := r.renewSigns(ctx, companyID, d.from, d.to); err != nil {
			return err
		}
	}
	return nil
}

// renewSigns makes one report while no other is being made.
func (r *Reader) renewSigns(ctx context.Context, companyID, from, to string) error {
	select {
	case r.signing <- struct{}{}:
		defer func() { <-r.signing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	_, err := r.makeSigns(ctx, companyID, from, to, false)
	return err
}
