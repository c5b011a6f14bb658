package e2e

import "testing"

func TestEveryCurlOfTheAPIPageWorks(t *testing.T) {
	t.Parallel()
	fences, output := newShop(t).runPage(t, "api.md")
	if n := countCurls(fences); n < 50 {
		t.Errorf("the page has %d curls: some operation is missing", n)
	}
	wantAll(t, output, `"commission":23`, `"amount":4.5,"currency":"BRL"`, `"evidence":"coupon"`, `"value":100`, `"total":23,"carried":false`,
		`"reference":"PIX 8127"`, "Ratelimit-Remaining", "coupon_period_conflict")
}
