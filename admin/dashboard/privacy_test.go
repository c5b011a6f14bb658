package dashboard_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// An owner asks for a person to be erased, and the page says when that is done. Nobody else may, and no page, log or audit
// says who it is.
func TestAPersonIsErasedOnThePage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, at := s.loggedIn(), "/dashboard/privacy?company="+s.live
	f := func(want int, words string, fields ...string) {
		t.Helper()
		values := url.Values{}
		for i := 0; i < len(fields); i += 2 {
			values.Set(fields[i], fields[i+1])
		}
		if status, text, _ := s.send(owner, at, values); status != want || !contains(text, words) {
			t.Errorf("%q: %d, want %d with %q: %s", fields, status, want, words, text)
		}
	}
	f(http.StatusUnprocessableEntity, "whom to erase", "sure", "yes")
	f(http.StatusUnprocessableEntity, "confirm that you know it", "email", "zq.maria@example.com")
	f(http.StatusUnprocessableEntity, "names nobody", "email", "maria", "sure", "yes")
	if list, err := s.DB.Erasures(t.Context(), s.live, 10); err != nil || len(list) != 0 {
		t.Fatalf("%+v, %v", list, err)
	}
	f(http.StatusSeeOther, "", "email", "zq.maria@example.com", "phone", "(11) 98888-7766", "sure", "yes")
	f(http.StatusSeeOther, "", "email", "zq.maria@example.com", "phone", "(11) 98888-7766", "sure", "yes") // the same one waits
	if page := s.readAs(owner, at); !contains(page, "E-mail, Phone", "Being erased") || strings.Contains(page, "zq.maria") {
		t.Errorf("%s", page)
	}
	list, err := s.DB.Erasures(t.Context(), s.live, 10)
	if err != nil || len(list) != 1 || len(list[0].Kinds) != 2 || !list[0].DoneAt.IsZero() {
		t.Fatalf("%+v, %v", list, err)
	}
	if log := s.readAs(owner, "/dashboard/audit?company="+s.live); !contains(log, "Customer to be erased") {
		t.Errorf("the log before: %s", log)
	}
	s.Put(reporttest.Order{CompanyID: s.live, ID: "hers", TotalMinor: 1000, Explanation: sampleExplanation()})
	order := "/dashboard/order?company=" + s.live + "&id=hers"
	if page := s.readAs(owner, order); !contains(page, "kept as a hash") || contains(page, "This person was erased") {
		t.Errorf("the order before: %s", page)
	}
	s.exec(`insert into erased_order (company_id, order_id, erasure_id)
		select company_id, 'hers', erasure_id from erasure where company_id = $1`, s.live)
	if page := s.readAs(owner, order); contains(page, "kept as a hash") || !contains(page, "This person was erased", "E-mail") {
		t.Errorf("the order after: %s", page)
	}
	s.exec(`update erasure set done_at = now(), orders = 3, events = 12 where company_id = $1`, s.live)
	// Exported files may still have the person.
	s.exec(`insert into export (company_id, export_id, kind, format, place, begun, begun_at)
		values ($1, '019cd7a4-2e00-7000-8000-000000000001', 'orders', 'parquet', 'files.example.com:/srv/tributary', 1, now())`, s.live)
	s.exec(`insert into erasure_export (company_id, erasure_id, export_id, kind, begun)
		select e.company_id, e.erasure_id, x.export_id, x.kind, x.begun from erasure e join export x on x.company_id = e.company_id
		where e.company_id = $1`, s.live)
	if page := s.readAs(owner, at); !contains(page, "Waits until exported files are written anew",
		"orders files.example.com:/srv/tributary", " 3 12") || contains(page, "Erased ") {
		t.Errorf("%s", page)
	}
	if log := s.readAs(owner, "/dashboard/audit?company="+s.live); !contains(log, "Customer to be erased") {
		t.Errorf("the log while files have the person: %s", log)
	}
	s.exec(`delete from erasure_export where company_id = $1`, s.live)
	if page := s.readAs(owner, at); !contains(page, "Erased", " 3 12") {
		t.Errorf("%s", page)
	}
	if log := s.readAs(owner, "/dashboard/audit?company="+s.live); !contains(log, "Customer erased") || contains(log, "to be erased") {
		t.Errorf("the log after: %s", log)
	}
	if log := s.readAs(owner, "/dashboard/audit?company="+s.live); strings.Contains(log, "zq.maria") ||
		strings.Contains(s.logged(), "zq.maria") {
		t.Error("a log says who was erased")
	}
	bia := s.join(account.RoleFinance, "bia@loja.example", s.Store.StoreID)
	if status, _, _ := s.send(bia, at, url.Values{"email": {"zq.maria@example.com"}, "sure": {"yes"}}); status != http.StatusForbidden {
		t.Errorf("finance erases: %d", status)
	}
}

// A person's data is one file, for owners alone. The audit log says that it was made, not whose.
func TestAPersonsDataIsDownloaded(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, at := s.loggedIn(), "/dashboard/privacy/export?company="+s.live
	send := func(client *http.Client, values url.Values) (status int, header http.Header, text string) {
		t.Helper()
		answer, err := client.PostForm(s.url+at, values)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, answer.Header, string(body)
	}
	s.Put(reporttest.Order{CompanyID: s.live, ID: "1001", TotalMinor: 1000})
	keys, wrong := facts.SubjectKeys(commerce.DataSubject{Email: "zq.maria@example.com"}, s.hasher.Company(s.live, "BR"))
	if len(keys) != 1 || wrong != nil {
		t.Fatalf("%v %v", keys, wrong)
	}
	s.Key(s.live, "1001", keys[0], time.Now())
	maria := url.Values{"email": {" ZQ.Maria@example.com"}}
	status, header, text := send(owner, maria)
	if status != http.StatusOK || !json.Valid([]byte(text)) || !contains(text, `"orderId":"1001"`, `"named_by":["email"]`,
		`"complete":true`) ||
		header.Get("Content-Type") != "application/json" || !strings.HasPrefix(header.Get("Content-Disposition"), "attachment; ") {
		t.Errorf("%d %v %s", status, header, text)
	}
	maria.Set("as", "page")
	for _, portuguese := range []bool{false, true} {
		want := []string{"<dt>Total</dt><dd>R$ 10.00</dd>", "<dt>State</dt><dd>approved</dd>", "Found by: <ul><li>E-mail</li></ul>",
			"<h2>Visits and other events</h2><ul><li>Nothing</li></ul>", "This is all that is stored", `lang="en"`}
		if portuguese {
			s.inPortuguese(owner)
			want = []string{"<dt>Total</dt><dd>R$ 10,00</dd>", "<dt>Estado</dt><dd>aprovado</dd>", "Encontrado por: <ul><li>E-mail</li></ul>",
				"<h2>Visitas e outros eventos</h2><ul><li>Nada</li></ul>", "Isto é tudo o que está guardado", `lang="pt-BR"`}
		}
		status, header, text = send(owner, maria)
		text = strings.ReplaceAll(text, "\u00a0", " ")
		if status != http.StatusOK || !contains(text, want...) || !strings.HasSuffix(text, "</html>\n") ||
			header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.HasPrefix(header.Get("Content-Disposition"), "attachment; ") {
			t.Errorf("%d %v %s", status, header, text)
		}
	}
	s.inEnglish(owner)
	for _, bad := range []url.Values{{}, {"email": {"maria"}}, {"sure": {"yes"}}, {"as": {"page"}}} {
		if status, header, _ := send(owner, bad); status != http.StatusUnprocessableEntity || header.Get("Content-Disposition") != "" {
			t.Errorf("%v: %d", bad, status)
		}
	}
	if log := s.readAs(owner, "/dashboard/audit?company="+s.live); !contains(log, "Customer’s data downloaded") ||
		strings.Contains(strings.ToLower(log), "zq.maria") || strings.Contains(strings.ToLower(s.logged()), "zq.maria") {
		t.Errorf("the log reads %s", log)
	}
	if log, err := s.DB.AuditLog(t.Context(), s.live, "", "customer.export", 10); err != nil || len(log) != 3 {
		t.Errorf("%+v, %v", log, err)
	}
	for i, role := range []string{account.RoleFinance, account.RoleAnalyst} {
		client := s.join(role, fmt.Sprintf("bia%d@loja.example", i), s.Store.StoreID)
		if status, _, text := send(client, maria); status != http.StatusForbidden || strings.Contains(text, "1001") {
			t.Errorf("%s: %d", role, status)
		}
	}
	s.exec(`alter table order_personal rename to gone`)
	if status, header, text := send(owner, maria); status != http.StatusServiceUnavailable || header.Get("Content-Disposition") != "" {
		t.Errorf("while it cannot be read: %d %s", status, text)
	}
}
