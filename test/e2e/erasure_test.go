package e2e

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/packed"
)

// TestNothingIsLeftOfAnErasedPerson brings a person in by every door: visits in every form,
// a pixel, a short link, a check-out, orders with every personal field, and a search in the
// dashboard. Then the person is erased by e-mail alone. No table and no file has anything of
// the person any more, in whatever form it was stored, and no sum has changed.
func TestNothingIsLeftOfAnErasedPerson(t *testing.T) {
	t.Parallel()
	d := startDev(t, dataDir(t), "--empty", "--log-level", "debug")
	s := &sender{t: t, dev: d, short: d.register(t, "Ana Prado", "Inverno", "ANA10")}
	p := &visitorOf{sender: s, visitor: uuid.Must(uuid.NewV7()).String()}
	const email, phone, customer, cart, name, street = "erased.person@example.com", "11987651234", "cust-erased-4711",
		"k9Qx2vB7mZ4pT1wRy8LdN3fC", "Erna Gelöscht", "01311-999"
	p.openLink()
	p.events(email, phone, customer, cart)
	order := func(fields map[string]any) {
		fields["createdAt"], fields["updatedAt"] = time.Now().UTC().Format(time.RFC3339), time.Now().UTC().Format(time.RFC3339)
		s.postOrder(nil, fields, http.StatusOK)
	}
	person := map[string]any{"customerId": customer, "name": name, "email": email, "phone": phone, "zip": street, "city": "Erasetown"}
	order(map[string]any{"customer": person, "userId": p.visitor, "cartToken": cart, "browserIp": "203.0.113.77",
		"userAgent": "ErasedBrowser/1", "discountCode": "ANA10"})
	order(map[string]any{"customer": person, "userId": p.cookie, "note": email, "additional": map[string]any{"email": email}})
	order(map[string]any{"customer": map[string]any{"email": "another@example.com", "customerId": "other"}})
	search, err := s.request(http.MethodGet, d.DashboardURL+"/orders?q="+url.QueryEscape(email), "", nil)
	s.do(search, err, http.StatusOK, http.StatusSeeOther, http.StatusNotFound)
	wantCount(t, d.Postgres, "orders explained", 3, `select count(*) from payout where company_id = $1`, d.CompanyID)
	wantCount(t, d.Postgres, "orders waiting", 0, `select count(*) from recompute`)
	wantCount(t, d.Postgres, "events of the person", 7, `select count(*) from event_fact where company_id = $1`, d.CompanyID)

	// The keyed hashes, as they are stored.
	needles := []string{email, phone, "5511987651234", customer, cart, name, street, "Erasetown", "203.0.113.77", "ErasedBrowser", p.visitor,
		p.cookie, p.cookie[:36]}
	needles = append(needles, keysOfUsers(t, d)...)
	for _, id := range erasedNetworkIDs {
		elsewhere := func(place string) bool { return !strings.HasPrefix(place, "event") }
		if where := leftOf(t, d, []string{id}); len(where) == 0 || slices.ContainsFunc(where, elsewhere) {
			t.Errorf("%s stands in %v, not in events alone", id, where)
		}
		needles = append(needles, id)
	}
	if left := leftOf(t, d, needles); len(left) < 15 {
		t.Fatalf("the person is in few places only, the test says nothing: %v", left)
	}
	sums := func() (all string) {
		d.query(t, []any{&all}, `
			select string_agg(line, E'\n' order by line) from (
				select row(order_id, position, channel, influencer_id, currency, first_minor, last_minor, linear_minor, position_minor,
				time_decay_minor)::text as line from credit
				union all select row(order_id, state, influencer_id, currency, total_minor, commission_minor)::text from payout
				union all select row(order_id, entry, amount_minor, currency, payable_on)::text from ledger_entry
				union all select row(s.*)::text from sale_day s union all select row(c.*)::text from credit_day c union all select row(t.*)::text
					from traffic_day t
				union all select row(order_id, is_first_order, o.total_minor, o.status)::text from orders o left
					join payout using (company_id, order_id)) l`)
		return all
	}
	before := sums()
	if !strings.Contains(before, "earned") {
		t.Fatalf("nobody earned anything: the test says nothing\n%s", before)
	}

	files := exportsOf(t, d)
	digests := files.digests(p, keysOfUsers(t, d))
	if n := files.has(erasedNetworkIDs); n > 0 {
		t.Errorf("the files have %d ids by which networks know the person's browser", n)
	}
	if n := files.has(digests); n < 6 {
		t.Fatalf("the files have %d of the person's digests only, the test says nothing", n)
	}

	var asked struct{ ID, State string }
	mustCall(t, http.MethodPost, d.AdminURL+"/erasures", d.APIKey, map[string]any{"email": strings.ToUpper(email)}, &asked)
	wantCount(t, d.Postgres, "erasures done", 1,
		`select count(*) from erasure where erasure_id = $1::uuid and done_at is not null and orders = 2`, asked.ID)
	wantCount(t, d.Postgres, "exports that it waits for", 2, `select count(*) from erasure_export where erasure_id = $1::uuid`, asked.ID)
	files.export()
	wantCount(t, d.Postgres, "exports that it waits for, when they are made anew", 0, `select count(*) from erasure_export`)
	if n := files.has(digests); n > 0 {
		t.Errorf("exported files have %d of the person's digests", n)
	}
	if after := sums(); after != before {
		t.Errorf("sums were\n%s\nand are\n%s", before, after)
	}
	if out, status := runToEnd(t, "verify", "--postgres", d.Postgres); status != 0 || !strings.Contains(out, "Equal: 3 orders.") {
		t.Errorf("tributary verify: exit status %d\n%s", status, out)
	}
	if left := leftOf(t, d, needles); len(left) > 0 {
		t.Errorf("left in PostgreSQL: %v", left)
	}
	d.stop(t) // the log is whole then
	for _, needle := range needles {
		if needle != p.visitor && strings.Contains(d.output.String(), needle) {
			t.Errorf("the log has %q", needle)
		}
	}
	if left := filesWith(t, d.dir, needles); len(left) > 0 {
		t.Errorf("left in files: %v", left)
	}
}

// keysOfUsers returns the keyed hashes in the orders that have a userId.
func keysOfUsers(t *testing.T, d *dev) (keys []string) {
	t.Helper()
	found := map[string]bool{}
	for _, body := range orderBodies(t, d) {
		text, err := packed.Order(body)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if err := json.Unmarshal(text, &fields); err != nil {
			t.Fatal(err)
		}
		if fields["userId"] == nil {
			continue
		}
		for _, field := range []string{"emailKey", "phoneKey", "customerKey", "cartKey"} {
			if key, _ := fields[field].(string); strings.HasPrefix(key, "k1:") {
				found[field] = true
				keys = append(keys, key)
			}
		}
	}
	if len(found) != 4 {
		t.Fatalf("only these keys are found: %v", found)
	}
	return keys
}

// orderBodies reads the stored orders as they are stored: packed.
func orderBodies(t *testing.T, d *dev) [][]byte {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), d.Postgres)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	rows, err := conn.Query(t.Context(), `select body from orders where company_id = $1`, d.CompanyID)
	if err != nil {
		t.Fatal(err)
	}
	bodies, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil {
		t.Fatal(err)
	}
	return bodies
}

// visitorOf is the person's browser.
type visitorOf struct {
	*sender
	visitor, cookie string
}

// openLink opens the influencer's link as a new browser, which gets the server's cookie.
func (p *visitorOf) openLink() {
	request, err := p.request(http.MethodGet, p.short, "", map[string]string{"User-Agent": "Mozilla/5.0 (X11; Linux x86_64) ErasedBrowser/1"})
	if err != nil {
		p.t.Fatal(err)
	}
	response, err := withoutRedirects.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	response.Body.Close()
	for _, c := range response.Cookies() {
		if c.Name == "trb_vid" {
			p.cookie = c.Value
		}
	}
	if p.cookie == "" {
		p.t.Fatalf("no cookie: %v", response.Header)
	}
}

// events sends visits in every form: alone, as a list, as an envelope, by the pixel, late,
// and a check-out.
func (p *visitorOf) events(email, phone, customer, cart string) {
	now := time.Now().UTC()
	event := func(name string, at time.Time, more map[string]any) map[string]any {
		e := map[string]any{"companyId": p.dev.CompanyID, "event": name, "eventId": uuid.Must(uuid.NewV7()).String(),
			"timestamp": at.Format(time.RFC3339), "visitorId": p.visitor,
			"context": map[string]any{"page": map[string]any{"url": "https://loja.example.com/?utm_source=ig&utm_campaign=Ana+Prado"}}}
		for k, v := range more {
			e[k] = v
		}
		return e
	}
	send := func(target string, n int, body any) {
		text, err := json.Marshal(body)
		if err != nil {
			p.t.Fatal(err)
		}
		request, err := p.request(http.MethodPost, target, string(text),
			map[string]string{"Content-Type": "application/json", "Cookie": "trb_vid=" + p.cookie, "Sec-Fetch-Site": "same-site"})
		if a := p.do(request, err, http.StatusOK, http.StatusAccepted); strings.Count(string(a.body), `"ok"`) != n {
			p.t.Errorf("%s\n%s", text, a.body)
		}
	}
	identity := map[string]any{"email": email, "phone": phone, "customer_id": customer, "cart_token": cart}
	agreed := event("PAGE_VIEW", now, map[string]any{"consent": "granted ga4,meta,tiktok"})
	agreed["context"].(map[string]any)["networkIds"] = map[string]any{"ga": erasedNetworkIDs[0], "ga_session": erasedNetworkIDs[3],
		"fbp": erasedNetworkIDs[1],
		"ttp": erasedNetworkIDs[2]}
	of := p.dev.EdgeURL + "/v1/events"
	send(of, 1, agreed)
	send(of+"?companyId="+p.dev.CompanyID, 1, []any{event("PRODUCT_VIEW", now, map[string]any{"identity": identity})})
	send(of, 3, map[string]any{"companyId": p.dev.CompanyID, "sentAt": now.Format(time.RFC3339), "events": []any{
		event("CHECKOUT_COMPLETED", now,
			map[string]any{"identity": identity,
				"payload": map[string]any{"note": "gift", "code": cart, "items": []any{map[string]any{"item_id": "p-1", "quantity": 1, "price": 10}}}}),
		event("PAGE_VIEW", now.AddDate(0, 0, -9), map[string]any{"identity": identity}), // late: no visitor has it
		[]any{"r1", uuid.Must(uuid.NewV7()).String(), now.Format(time.RFC3339), "PAGE_VIEW", `{}`, `{"email":"` + email + `"}`,
			map[string]any{"url": "https://loja.example.com/", "visitorId": p.visitor}},
	}})
	request, err := p.request(http.MethodGet,
		p.dev.EdgeURL+"/v1/pixel.gif?"+url.Values{"companyId": {p.dev.CompanyID}, "visitorId": {p.visitor}, "email": {email},
			"url": {"https://loja.example.com/x"}}.Encode(), "", nil)
	p.do(request, err, http.StatusOK)
}

// erasedNetworkIDs are how networks know the browser of visitorOf.events.
var erasedNetworkIDs = []string{"1471147114.1738782858", "fb.1.1738782878094.471147114711471147", "01K1A8BXG7ERASEDXKKJD4711_.tt.1",
	"ERASED4711.1738782990"}

// leftOf names the columns in which one of the texts is, in any form in which it is stored.
func leftOf(t *testing.T, d *dev, texts []string) (where []string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), d.Postgres)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	rows, err := conn.Query(t.Context(), `
		select table_name::text, column_name::text from information_schema.columns join information_schema.tables using (table_schema, table_name)
		where table_schema = 'public' and table_type = 'BASE TABLE' order by 1, 2`)
	if err != nil {
		t.Fatal(err)
	}
	columns, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct{ Table, Column string }])
	if err != nil || len(columns) < 200 {
		t.Fatalf("%d columns, %v", len(columns), err)
	}
	var forms []string
	for _, text := range texts {
		forms = append(forms, text, hex.EncodeToString([]byte(text)), hex.EncodeToString(packed.ID(text)))
	}
	for _, c := range columns {
		var n int
		table, column := pgx.Identifier{c.Table}.Sanitize(), pgx.Identifier{c.Column}.Sanitize()
		if err := conn.QueryRow(t.Context(),
			`select count(*) from `+table+` c where exists (select from unnest($1::text[]) f where strpos(c.`+column+`::text, f) > 0)`,
			forms).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			where = append(where, fmt.Sprintf("%s.%s: %d", c.Table, c.Column, n))
		}
	}
	for _, row := range unpackedRows(t, conn) {
		for _, text := range texts {
			if strings.Contains(row.text.raw, text) {
				where = append(where, row.place+": "+text)
			}
		}
	}
	return append(where, eventsWith(t, conn, texts)...)
}

// eventsWith names stored events whose records have one of the texts.
func eventsWith(t *testing.T, conn *pgx.Conn, texts []string) (where []string) {
	t.Helper()
	rows, err := conn.Query(t.Context(), `select company_id, event_id, name, visitor, at, record from event_fact`)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (facts.Event, error) {
		var e facts.StoredEvent
		if err := row.Scan(&e.CompanyID, (*[16]byte)(&e.EventID), &e.Name, &e.Visitor, &e.At, &e.Record); err != nil {
			return facts.Event{}, err
		}
		return e.Parse()
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		for _, text := range texts {
			if strings.Contains(string(e.Raw), text) {
				where = append(where, "event "+e.EventID+": "+text)
			}
		}
	}
	return where
}

// filesWith names the server's files that have one of the texts: the edge's spool and
// snapshot, and logs. Kafka's own and PostgreSQL's own are not looked at: the one keeps records by its
// retention, the other the pages of deleted rows until it writes them again.
func filesWith(t *testing.T, dir string, texts []string) (where []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name := entry.Name(); name == "kafka" || name == "postgres" {
				return filepath.SkipDir
			}
			return nil
		}
		text, err := os.ReadFile(path)
		for _, needle := range texts {
			if strings.Contains(string(text), needle) {
				where = append(where, path+": "+needle)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return where
}
