package report

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/fraud"
	"github.com/tributary-io/tributary/internal/postgres"
)

const (
	// leaksEvery is how old the newest report of a company may be that asked to be told of leaks.
	leaksEvery = 6 * time.Hour
	// leakDays are the days of such a report, today with them.
	leakDays = 30
)

// leakRange are the days of such a report; now is in the store's time zone.
func leakRange(now time.Time) (from, to string) {
	return now.AddDate(0, 0, 1-leakDays).Format(time.DateOnly), now.Format(time.DateOnly)
}

// tellLeaks writes which coupons of a report leak for the company's other systems, each once in commerce.LeakLife. Whoever made it: of a
// report of other days nothing is written, for the days decide what leaks, and since when.
func tellLeaks(ctx context.Context, tx pgx.Tx, companyID, from, to string, report *fraud.Report) error {
	var timezone string
	if err := tx.QueryRow(ctx, `select timezone from company where company_id = $1`, companyID).Scan(&timezone); err != nil {
		return err
	}
	zone, err := time.LoadLocation(timezone)
	if err != nil {
		return err
	}
	if first, last := leakRange(report.AsOf.In(zone)); first != from || last != to {
		return nil
	}
	var leaks []commerce.Event
	for _, s := range report.Signs {
		if since, err := time.ParseInLocation(time.DateOnly, s.Since, zone); err == nil && s.Kind == fraud.CouponSpread {
			leaks = append(leaks, commerce.Event{Type: commerce.CouponLeaking, Key: "coupon:" + s.Code, At: since,
				Data: commerce.LeakTold{Code: s.Code, InfluencerID: s.Influencer, Since: s.Since}})
		}
	}
	if len(leaks) == 0 {
		return nil
	}
	return postgres.Tell(ctx, tx, companyID, func() ([]commerce.Event, error) { return leaks, nil })
}

// leakCompany is one whose leaks are looked for.
type leakCompany struct{ id, timezone string }

func leakColumns(c *leakCompany) postgres.Columns {
	return postgres.Columns{postgres.Into("c.company_id", &c.id), postgres.Into("c.timezone", &c.timezone)}
}

// lookForLeaks makes a report of the last days of companies that asked to be told of leaks and have had none for some time; at most
// limit reports. One that cannot be made does not hold up the others: they come in no order.
func (r *Reader) lookForLeaks(ctx context.Context, limit int) error {
	list, err := postgres.Collect(ctx, r.db.Pool(), postgres.Scan(leakColumns), `
		select `+postgres.List(leakColumns)+` from company c where c.archived_at is null and exists (
			select 1 from destination d where d.company_id = c.company_id and d.state = 'active' and $1 = any(d.types) and `+postgres.Heeded+`)
		order by random()`, commerce.CouponLeaking)
	if err != nil {
		return err
	}
	var problems []error
	for _, c := range list {
		if limit <= 0 || ctx.Err() != nil {
			break
		}
		made, err := r.lookForLeaksOf(ctx, c)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", c.id, err))
		}
		if made {
			limit--
		}
	}
	return errors.Join(problems...)
}

// lookForLeaksOf is lookForLeaks of one company. made: a report was made, or should have been.
func (r *Reader) lookForLeaksOf(ctx context.Context, c leakCompany) (made bool, err error) {
	zone, err := time.LoadLocation(c.timezone)
	if err != nil {
		return false, err
	}
	from, to := leakRange(time.Now().In(zone))
	var fresh bool
	if err := r.db.Pool().QueryRow(ctx, `
		select exists (select 1 from sign_report where company_id = $1 and start_date = $2::date and end_date = $3::date
			and as_of > now() - $4::interval)`, c.id, from, to, leaksEvery).Scan(&fresh); err != nil || fresh {
		return false, err
	}
	if err := r.renewSigns(ctx, c.id, from, to); err != nil {
		return true, err
	}
	return true, r.forgetSigns(ctx, c.id)
}
