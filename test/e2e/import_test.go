package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/facts"
)

// realData finds a file of the real shops' slices, kept beside the project.
// Without it the test is skipped, which is a failure under CI.
func realData(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join("..", "..", "..", "shared", "data", name)
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the real shops' data is absent: %v", err)
		}
		t.Skipf("SKIPPED, NOT TESTED: the real shops' data is absent: %v", err)
	}
	return path
}

// The totals are those of the data's own README.
func TestImportedHistoryIsExactToTheEventAndTheCent(t *testing.T) {
	t.Parallel()
	events, shop, olist := realData(t, "events.jsonl"), realData(t, "shop-orders.jsonl"), realData(t, "olist-orders.jsonl")
	d := startDev(t, dataDir(t), "--empty")
	for name, campaign := range map[string]string{"Ana Prado": "Inverno", "Beto Lima": "Inverno", "Caio Melo": "Estreia"} {
		d.register(t, name, campaign, "")
	}

	importFile := func(args ...string) {
		t.Helper()
		if out, status := runToEnd(t, append([]string{"import"}, args...)...); status != 0 {
			t.Fatalf("tributary import %v: exit status %d\n%s", args, status, out)
		}
	}
	importFile("events", events, "--edge", d.EdgeURL, "--company", d.CompanyID, "--key", d.APIKey)
	importFile("orders", shop, "--admin", d.AdminURL, "--key", d.APIKey)
	importFile("orders", olist, "--admin", d.SandboxURL, "--key", d.SandboxAPIKey)

	f := func(what string, want int64, sql string, args ...any) {
		t.Helper()
		wantCount(t, d.Postgres, what, want, sql, args...)
	}
	f("events", 5003, `select count(*) from event_fact where company_id = $1`, d.CompanyID)
	f("product views", 4678, `select count(*) from event_fact where company_id = $1 and name = 'PRODUCT_VIEW'`, d.CompanyID)
	f("adds to cart", 111, `select count(*) from event_fact where company_id = $1 and name = 'ADD_TO_CART'`, d.CompanyID)
	f("checkouts", 214, `select count(*) from event_fact where company_id = $1 and name = 'CHECKOUT_COMPLETED'`, d.CompanyID)
	f("visitors", 1193, `select count(distinct visitor) from event_fact where company_id = $1`, d.CompanyID)
	f("shop orders", 200, `select count(*) from orders where company_id = $1`, d.CompanyID)
	f("shop total", 5944263, `select sum(total_minor) from orders where company_id = $1`, d.CompanyID)

	credited := `select coalesce(sum(o.total_minor), 0)::bigint from payout p join orders o using (company_id, order_id)
		join influencer i using (company_id, influencer_id) where p.company_id = $1 and i.name = $2 and p.evidence = 'link'`
	f("Ana Prado", 1093571, credited, d.CompanyID, "Ana Prado")
	f("Beto Lima", 989968, credited, d.CompanyID, "Beto Lima")
	f("Caio Melo", 1069305, credited, d.CompanyID, "Caio Melo")
	f("nobody", 2791419, `select coalesce(sum(o.total_minor), 0)::bigint from payout p join orders o using (company_id, order_id)
		where p.company_id = $1 and p.influencer_id is null`, d.CompanyID)

	byStatus := `select %s::bigint from orders where company_id = $1 and status = $2`
	f("approved orders", 1693, fmt.Sprintf(byStatus, "count(*)"), d.SandboxCompanyID, 0)
	f("approved total", 26584885, fmt.Sprintf(byStatus, "sum(total_minor)"), d.SandboxCompanyID, 0)
	f("cancelled orders", 307, fmt.Sprintf(byStatus, "count(*)"), d.SandboxCompanyID, 2)
	f("cancelled total", 2150520, fmt.Sprintf(byStatus, "sum(total_minor)"), d.SandboxCompanyID, 2)
	if got := withoutItems(t, d.Postgres, d.SandboxCompanyID); got != 199 {
		t.Errorf("orders without items: %d, want 199", got)
	}

	// Importing once more changes nothing: the same ids, the same versions.
	importFile("events", events, "--edge", d.EdgeURL, "--company", d.CompanyID, "--key", d.APIKey)
	importFile("orders", shop, "--admin", d.AdminURL, "--key", d.APIKey)
	mustCall(t, http.MethodPost, d.AdminURL+"/order", d.APIKey, order("after", "1.00", ""), nil)
	d.explain(t, "after", nil) // the log is read in order: what came before it is applied
	f("events after a second import", 5003, `select count(*) from event_fact where company_id = $1`, d.CompanyID)
	f("shop total after a second import", 5944263+100, `select sum(total_minor) from orders where company_id = $1`, d.CompanyID)
	f("Ana Prado after a second import", 1093571, credited, d.CompanyID, "Ana Prado")

	if out, status := runToEnd(t, "verify", "--postgres", d.Postgres); status != 0 || !strings.Contains(out, "Equal: 2201 orders.") {
		t.Errorf("tributary verify: exit status %d\n%s", status, out)
	}
}

// withoutItems counts the orders of a company that have no items.
func withoutItems(t *testing.T, dsn, companyID string) (n int) {
	t.Helper()
	var stored [][]byte
	queryOne(t, dsn, []any{&stored}, `select array_agg(body) from orders where company_id = $1`, companyID)
	for _, body := range stored {
		order, err := facts.UnpackOrder(body)
		if err != nil {
			t.Fatal(err)
		}
		if len(order.Items.Value) == 0 {
			n++
		}
	}
	return n
}
