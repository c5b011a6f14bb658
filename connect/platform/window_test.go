package platform

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// A sale of some minutes, of more orders than a page holds, is read in some requests, and no order of it is missed: the reader neither
// goes on as slowly as time does, nor gets an end while it turns the pages of what has none.
func TestABusyMomentIsReadInAFewRequests(t *testing.T) {
	const size, second = 100, time.Second
	for name, c := range map[string]struct {
		began, lasted time.Duration // before now
		orders        int
		mostRequests  int
	}{
		"just now":                 {began: time.Minute, lasted: second, orders: 350, mostRequests: 12},
		"a great sale":             {began: 9*time.Minute + 50*second, lasted: 90 * second, orders: 5000, mostRequests: 80},
		"while it becomes settled": {began: 10*time.Minute + 5*second, lasted: 60 * second, orders: 950, mostRequests: 30},
		"long ago":                 {began: 13 * time.Minute, lasted: 20 * second, orders: 350, mostRequests: 40},
		"all the time":             {began: 14 * time.Minute, lasted: 14 * time.Minute, orders: 1500, mostRequests: 60},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				now := time.Now().Truncate(second)
				at := make([]time.Time, c.orders)
				for n := range at {
					at[n] = now.Add(-c.began + c.lasted*time.Duration(n)/time.Duration(c.orders))
				}
				slices.Reverse(at) // the newest first
				requests := 0
				w := Windows{Size: size, From: now.Add(-14 * time.Minute),
					Ask: func(_ context.Context, from, to time.Time, page int) (raw []json.RawMessage, total int64, more bool, err error) {
						requests++
						time.Sleep(500 * time.Millisecond)
						for n, moment := range at {
							if moment.Before(from) || !to.IsZero() && !moment.Before(to) {
								continue
							}
							if total++; total > int64(size*(page-1)) && total <= int64(size*page) {
								raw = append(raw, json.RawMessage(strconv.Itoa(n)))
							}
						}
						return raw, total, total > int64(size*page), nil
					}}
				found := map[string]bool{}
				for token := ""; ; {
					page, err := w.Read(t.Context(), token)
					if err != nil {
						t.Fatal(err)
					}
					for _, raw := range page.Raw {
						found[string(raw)] = true
					}
					if token = page.Next; token == "" || requests > 2000 {
						break
					}
				}
				if len(found) != c.orders || requests > c.mostRequests {
					t.Errorf("%d of %d orders were found in %d requests, at most %d are wanted", len(found), c.orders, requests, c.mostRequests)
				}
			})
		})
	}
}
