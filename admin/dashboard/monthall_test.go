package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"

	dashboardsite "github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// The month of a shop with 34 influencers, in Portuguese: from a spreadsheet that Excel wrote in Windows-1252 to the last of 34
// payments. It is eight pages, however many there are, and no cent is wrong.
func TestAMonthOfManyInfluencersIsAFewPages(t *testing.T) {
	t.Parallel()
	const many = 34
	s := newSite(t)
	s.setClock(mayDay)
	owner, at := s.loggedIn(), "?company="+s.live
	s.inPortuguese(owner)
	pages := 0
	send := func(path string, values url.Values, want int, texts ...string) string {
		t.Helper()
		pages++
		status, page, _ := s.send(owner, "/dashboard/"+path+at, values)
		page = strings.ReplaceAll(page, "\u00a0", " ")
		for _, text := range texts {
			if !contains(page, text) {
				t.Fatalf("%s: %q is not in %.3000s", path, text, page)
			}
		}
		if status != want {
			t.Fatalf("%s: %d, want %d: %.3000s", path, status, want, page)
		}
		return page
	}
	var file strings.Builder
	file.WriteString("Influenciador;Seguidores;Cupom;Comissão (%);Cachê mensal;E-mail;Tipo da chave Pix;Chave Pix\r\n")
	name := func(i int) string { return fmt.Sprintf("Júlia Conceição %02d", i) }
	for i := range many {
		fmt.Fprintf(&file, "%s;12.000;JULIA%02d;12,5;R$ 1.500,00;julia%d@example.com;E-mail;julia%d@example.com\r\n", name(i), i, i, i)
	}
	raw, err := charmap.Windows1252.NewEncoder().String(file.String())
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name string
		want int
	}{{"look", http.StatusOK}, {"save", http.StatusSeeOther}} {
		pages++
		if status, page := s.upload(owner, raw, "step", step.name); status != step.want ||
			step.name == "look" && !contains(page, fmt.Sprint(many, " linhas podem ser importadas")) {
			t.Fatalf("%s: %d: %.3000s", step.name, status, page[max(0, strings.Index(page, "<main")):])
		}
	}
	var sum int64
	for i := range many {
		commission := int64(1_001 + 7_919*i)
		sum += commission
		influencer, err := s.DB.InfluencerID(t.Context(), s.live, name(i))
		if err != nil {
			t.Fatal(err)
		}
		s.Put(reporttest.Order{CompanyID: s.live, ID: fmt.Sprint("o", i), CreatedAt: mayDay.AddDate(0, 0, -40), TotalMinor: 8 * commission,
			InfluencerID: influencer, Evidence: "coupon", CommissionMinor: commission})
	}
	texts, err := dashboardsite.LoadTexts()
	if err != nil {
		t.Fatal(err)
	}
	total := strings.ReplaceAll(texts.Of("pt-BR").Money(sum, commerce.BRL), "\u00a0", " ")
	end := url.Values{"end_date": {"30/04/2026"}}
	send("statements/closing", end, http.StatusOK, "30/04/2026", fmt.Sprintf("<dd>%d</dd>", many), total)
	send("statements", end, http.StatusSeeOther)
	s.Close(s.live)
	pages++
	if page := s.readRaw(owner, "/dashboard/statements/pix"+at); strings.Count(page, "br.gov.bcb.pix") != 2*many { // each to copy, too
		t.Errorf("%d codes", strings.Count(page, "br.gov.bcb.pix"))
	}
	page := send("statements/chosen", url.Values{"all": {"yes"}, "paid_on": {"30/04/2026"}, "reference": {"PIX de abril"}},
		http.StatusOK, total)
	var chosen []string
	for _, part := range strings.Split(page, `name="chosen" value="`)[1:] {
		version, _, _ := strings.Cut(part, `"`)
		chosen = append(chosen, version)
	}
	send("statements/pay-chosen", url.Values{"chosen": chosen, "paid_on": {"30/04/2026"}, "reference": {"PIX de abril"}}, http.StatusSeeOther)
	pages++
	if page := strings.ReplaceAll(s.readAs(owner, "/dashboard/statements"+at), "\u00a0", " "); !contains(page,
		fmt.Sprintf("%d extratos · Pago: %d, %s", many, many, total)) {
		t.Errorf("the statements: %.2000s", page)
	}
	list, err := s.DB.Statements(t.Context(), s.live, commerce.StatementFilter{State: commerce.StatementPaid}, commerce.StatementCursor{}, 100)
	if err != nil || len(list) != many {
		t.Fatalf("%d are paid, %v", len(list), err)
	}
	for _, st := range list {
		sum -= st.TotalMinor.IntPart()
	}
	if sum != 0 || pages != 8 {
		t.Errorf("%d cents are wrong, %d pages", sum, pages)
	}
}
