package e2e

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/test/await"
)

// order is a minimal valid order of total reais with a coupon.
func order(id, total, coupon string) map[string]any {
	now := time.Now().UTC().Format("2006-01-02T15:04:05Z")
	o := map[string]any{
		"orderId": id, "orderStatus": 0, "createdAt": now, "updatedAt": now, "currency": "BRL", "totalPrice": jsonNumber(total),
	}
	if coupon != "" {
		o["discountCode"] = coupon
	}
	return o
}

// jsonNumber is an exact decimal in a JSON body.
type jsonNumber string

func (n jsonNumber) MarshalJSON() ([]byte, error) { return []byte(n), nil }

func TestDevPrintsCurlLinesThatWork(t *testing.T) {
	t.Parallel()
	d := demoDev.of(t)
	for _, url := range []string{d.EdgeURL + "/healthz", d.EdgeURL + "/readyz", d.DashboardURL, d.StorefrontURL} {
		response, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("GET %s: %s", url, response.Status)
		}
	}

	lines := curlLines(d.output.String())
	if len(lines) < 2 {
		t.Fatalf("dev printed %d curl lines, want one that posts an order and one that explains it:\n%s", len(lines), d.output.String())
	}
	out, err := exec.Command("sh", "-c", lines[0]).CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"success":true`) {
		t.Fatalf("%s\n%v: %s", lines[0], err, out)
	}
	var explained []byte
	await.Until(t, await.Long, func() bool {
		explained, err = exec.Command("sh", "-c", lines[1]).CombinedOutput()
		return err == nil && strings.Contains(string(explained), `"winner":{`)
	}, func() string { return fmt.Sprintf("%s\n%v: %s", lines[1], err, explained) })
	if !strings.Contains(string(explained), `"evidence":"coupon"`) {
		t.Errorf("the printed order is not credited by its coupon: %s", explained)
	}

	info, err := os.Stat(filepath.Join(d.dir, "dev.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("dev.json: %v, %v; want mode 0600", info.Mode(), err)
	}
}

// curlLines are the commands that dev printed, continuation lines joined.
func curlLines(output string) []string {
	output = regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(output, "")
	output = strings.ReplaceAll(output, "\\\n", " ")
	var lines []string
	for line := range strings.Lines(output) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "curl ") {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestDevStartsAgainWithTheSameData after Ctrl-C, and after SIGKILL in the middle of orders.
func TestDevStartsAgainWithTheSameData(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	first := startDev(t, dir, "--empty")
	first.register(t, "Ana Prado", "Inverno", "ANA10")
	mustCall(t, http.MethodPost, first.AdminURL+"/order", first.APIKey, order("before", "150.00", "ANA10"), nil)
	before := first.explain(t, "before", nil)
	first.stop(t)
	if out := first.output.String(); strings.Contains(out, "level=ERROR") || strings.Contains(out, "level=WARN") {
		t.Errorf("a first start warns of something:\n%s", tail(out, 8000))
	}

	second := startDev(t, dir, "--empty")
	if second.APIKey != first.APIKey || second.CompanyID != first.CompanyID || second.DashboardPassword != first.DashboardPassword {
		t.Error("the second start has other keys than the first")
	}
	if out := second.output.String(); strings.Count(out, "\n") > 24 || !strings.Contains(out, second.DashboardPassword) ||
		!strings.Contains(out, second.APIKey) {
		t.Errorf("the second start prints more than a screen, or no keys:\n%s", out)
	}
	after := second.explain(t, "before", nil)
	if before.Payout.Winner == nil || after.Payout.Winner == nil || *before.Payout.Winner != *after.Payout.Winner ||
		before.Payout.Commission != after.Payout.Commission {
		t.Errorf("explained as %+v before and %+v after the restart", before.Payout, after.Payout)
	}

	// Orders keep coming while the process dies; those answered 200 count.
	acknowledged := make(chan string, 1000)
	go func() {
		defer close(acknowledged)
		for i := range cap(acknowledged) {
			id := fmt.Sprintf("o-%d", i)
			got, err := call(t.Context(), http.MethodPost, second.AdminURL+"/order", second.APIKey, order(id, "10.00", "ANA10"))
			if err != nil {
				return
			}
			if got.status == http.StatusOK {
				acknowledged <- id
			}
		}
	}()
	var ids []string
	for id := range acknowledged {
		if ids = append(ids, id); len(ids) == 50 {
			second.kill(t)
		}
	}
	if len(ids) < 50 {
		t.Fatalf("only %d orders were acknowledged before the end", len(ids))
	}
	third := startDev(t, dir, "--empty")
	var missing int
	await.Until(t, await.Long, func() bool {
		third.query(t, []any{&missing}, `select count(*) from unnest($2::text[]) id
			where not exists (select from payout p join influencer using (company_id, influencer_id)
				where p.company_id = $1 and p.order_id = id and p.commission_minor = 100)`, third.CompanyID, ids)
		return missing == 0
	}, func() string { return fmt.Sprintf("%d of %d acknowledged orders are not credited", missing, len(ids)) })
}

// register makes an influencer with one link, one coupon and 10 % commission.
// It gives the short URL, with scheme.
func (d *dev) register(t *testing.T, name, campaign, coupon string) string {
	t.Helper()
	body := map[string]any{
		"name": name, "campaign": campaign,
		"links": []any{map[string]any{"url": "https://loja.example.com/"}},
		"costs": []any{map[string]any{"var_fee": 10, "start_date": "2016-01-01", "is_coupon_cost": false, "is_campaign_cost": false}},
	}
	if coupon != "" {
		body["coupons"] = []any{map[string]any{"cupom": coupon}}
	}
	var short []string
	mustCall(t, http.MethodPost, d.AdminURL+"/influencers", d.APIKey, body, &short)
	if len(short) != 1 {
		t.Fatalf("POST /influencers gave %v, want one short URL", short)
	}
	url := "http://" + short[0]
	// The edge learns of a link from directory.v1, a moment later. HEAD is no click.
	await.Until(t, await.Long, func() bool {
		response, err := withoutRedirects.Head(url)
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusFound
	}, func() string { return url + " does not open" })
	return url
}

// withoutRedirects shows a redirect instead of following it.
var withoutRedirects = http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func TestDevSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	f := func(name string, wants []string, args ...string) {
		t.Helper()
		out, status := runToEnd(t, append([]string{"dev"}, args...)...)
		if status == 0 {
			t.Errorf("%s: exit status 0", name)
		}
		for _, want := range wants {
			if !strings.Contains(out, want) {
				t.Errorf("%s: the message does not name %q:\n%s", name, want, tail(out, 1500))
			}
		}
		if strings.Contains(out, "goroutine ") {
			t.Errorf("%s: a stack trace instead of a message", name)
		}
	}
	free := []string{"--edge-addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--storefront-addr", "127.0.0.1:0"}
	f("port conflict", []string{busy.Addr().String(), "in use"},
		"--data", dataDir(t), "--edge-addr", busy.Addr().String(), "--admin-addr", "127.0.0.1:0", "--storefront-addr", "127.0.0.1:0")

	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f("data directory under a file", []string{file}, append(free, "--data", filepath.Join(file, "data"))...)

	running := emptyDev.of(t)
	f("a second dev on one data directory", []string{running.dir}, append(free, "--data", running.dir)...)
}

// What the demo store has at the first look: months of sales, a statement that is paid, one to pay, and a leak to find.
func TestTheDemoStoreShowsWhatTheProductDoes(t *testing.T) {
	t.Parallel()
	d := demoDev.of(t)
	var statements []struct{ State string }
	mustCall(t, http.MethodGet, d.AdminURL+"/statements?limit=100", d.APIKey, nil, &statements)
	states := map[string]int{}
	for _, s := range statements {
		states[s.State]++
	}
	if states["paid"] < 3 || states["closed"] < 3 {
		t.Errorf("statements by state: %v", states)
	}
	var of []struct {
		Name    string
		Details struct {
			Document string
			Pix      struct{ Key string }
		}
	}
	mustCall(t, http.MethodGet, d.AdminURL+"/influencers", d.APIKey, nil, &of)
	for _, i := range of {
		if i.Details.Pix.Key == "" || i.Details.Document == "" {
			t.Errorf("%s cannot be paid by Pix: %+v", i.Name, i.Details)
		}
	}
	now := time.Now().UTC()
	since := func(ago int) string {
		return fmt.Sprintf("?start_date=%s&end_date=%s", now.AddDate(0, 0, -ago).Format(time.DateOnly), now.Format(time.DateOnly))
	}
	for _, ago := range []int{29, 90} {
		var signs struct{ Signs []struct{ Kind, Code string } }
		mustCall(t, http.MethodGet, d.AdminURL+"/reports/signs"+since(ago), d.APIKey, nil, &signs)
		if len(signs.Signs) != 1 || signs.Signs[0].Kind != "coupon_spread" || signs.Signs[0].Code != "CAIO5" {
			t.Errorf("signs of %d days: %+v, want the leak of CAIO5 alone", ago, signs.Signs)
		}
	}
	var today struct {
		Totals struct{ Clicks, Visits int }
	}
	await.Until(t, 30*time.Second, func() bool {
		mustCall(t, http.MethodGet, d.AdminURL+"/reports/sales"+since(1)+"&by=total", d.APIKey, nil, &today)
		return today.Totals.Clicks > 300 && today.Totals.Clicks < today.Totals.Visits
	}, func() string { return fmt.Sprintf("clicks in proportion to visits: %+v", today.Totals) })
	days := since(90)
	var sales struct {
		Totals struct {
			Orders          int
			AttributedShare float64 `json:"attributed_share"`
			Conversion      float64
		}
	}
	mustCall(t, http.MethodGet, d.AdminURL+"/reports/sales"+days+"&by=total", d.APIKey, nil, &sales)
	if s := sales.Totals; s.Orders < 300 || s.AttributedShare < .3 || s.AttributedShare > .8 || s.Conversion < .01 || s.Conversion > .03 {
		t.Errorf("sales of 90 days: %+v", s)
	}
}
