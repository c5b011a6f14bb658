package demo

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/tributary-io/tributary/internal/background"
)

// processedWithin bounds the wait until the orders of the last months are processed.
const processedWithin = 90 * time.Second

// processed waits until the reports have every order of the last months.
func (s *Store) processed(ctx context.Context, now time.Time, orders int) error {
	days := url.Values{"start_date": {now.AddDate(0, 0, -daysOfHistory-1).Format(time.DateOnly)}, "end_date": {now.Format(time.DateOnly)},
		"by": {"total"}}
	for deadline := time.Now().Add(processedWithin); ; {
		var sales struct {
			Totals struct {
				Orders    int
				Cancelled int `json:"cancelled_orders"`
			}
		}
		if err := s.api(ctx, http.MethodGet, "/reports/sales?"+days.Encode(), nil, &sales); err != nil {
			return err
		}
		if sales.Totals.Orders+sales.Totals.Cancelled >= orders {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d of %d orders are processed after %v", sales.Totals.Orders+sales.Totals.Cancelled, orders, processedWithin)
		}
		if !background.Sleep(ctx, 100*time.Millisecond) {
			return ctx.Err()
		}
	}
}

// statements closes two periods: of the first every statement is paid, those of last month are left to pay.
func (s *Store) statements(ctx context.Context, now time.Time) error {
	lastMonth := now.AddDate(0, 0, -now.Day())
	first := now.AddDate(0, 0, -50)
	ids, err := s.closeUntil(ctx, first)
	if err != nil {
		return err
	}
	for _, id := range ids {
		paid := map[string]any{"paid_at": first.AddDate(0, 0, 3).UTC().Format(time.RFC3339), "reference": "PIX " + first.Format("01/2006")}
		if err := s.api(ctx, http.MethodPost, "/statements/"+url.PathEscape(id)+"/payment", paid, nil); err != nil {
			return err
		}
	}
	_, err = s.closeUntil(ctx, lastMonth)
	return err
}

// closeUntil closes the statements up to a day, and returns those that are to be paid.
func (s *Store) closeUntil(ctx context.Context, day time.Time) (ids []string, err error) {
	end := day.Format(time.DateOnly)
	if err := s.api(ctx, http.MethodPost, "/statements", map[string]any{"end_date": end}, nil); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(longestRetry); ; {
		var list []struct {
			ID      string
			EndDate string `json:"end_date"`
			State   string
		}
		if err := s.api(ctx, http.MethodGet, "/statements?limit=100", nil, &list); err != nil {
			return nil, err
		}
		ids, closing := []string(nil), false
		for _, one := range list {
			switch {
			case one.EndDate != end:
			case one.State == "closing":
				closing = true
			case one.State == "closed":
				ids = append(ids, one.ID)
			}
		}
		if !closing {
			return ids, nil
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("the statements of %s are not closed within %v", end, longestRetry)
		}
		if !background.Sleep(ctx, 50*time.Millisecond) {
			return nil, ctx.Err()
		}
	}
}
