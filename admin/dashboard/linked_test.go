package dashboard_test

import (
	"encoding/csv"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/tributary-io/tributary/admin/statementlink"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/devtest"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

var mayDay = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// linkedSite is a site with a statement of Ana's and a link to it.
type linkedSite struct {
	*site
	ana, statement string
	link           statementlink.Link
}

func newLinkedSite(t *testing.T, orders int) *linkedSite {
	t.Helper()
	s := &linkedSite{site: newSite(t)}
	s.setClock(mayDay)
	s.ana = s.Influencer(s.live, "Ana Prado")
	for i := range orders {
		s.Put(reporttest.Order{CompanyID: s.live, ID: fmt.Sprintf("10%04d", i), CreatedAt: mayDay.AddDate(0, 0, -40), TotalMinor: 20000,
			InfluencerID: s.ana, Evidence: "coupon", CommissionMinor: 123450})
	}
	s.statement = s.Ask(s.live, s.ana, "BRL", "2026-04-30", 0)
	s.link = statementlink.Link{CompanyID: s.live, StatementID: s.statement, InfluencerID: s.ana, Expires: mayDay.Add(time.Hour)}
	return s
}

// path is that of a link which the installation signs.
func (s *linkedSite) path(l statementlink.Link) string {
	s.t.Helper()
	signer, err := statementlink.NewSigner([]byte("0123456789abcdef0123456789abcdef"), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	token, err := signer.Token(l)
	if err != nil {
		s.t.Fatal(err)
	}
	return statementlink.Path + token
}

// get is an answer to somebody who is not logged in.
func (s *linkedSite) get(path, language string) (*http.Response, string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Accept-Language", language)
	answer, err := s.client().Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer, strings.Join(strings.Fields(tags.ReplaceAllString(strings.ReplaceAll(string(body), "\u00a0", " "), " ")), " ")
}

func TestAnInfluencerReadsTheOwnStatementByALink(t *testing.T) {
	t.Parallel()
	s := newLinkedSite(t, 2)
	s.Put(reporttest.Order{CompanyID: s.live, ID: "maria@example.com", CreatedAt: mayDay.AddDate(0, 0, -40), TotalMinor: 20000,
		InfluencerID: s.ana, Evidence: "coupon", CommissionMinor: -100})
	s.Put(reporttest.Order{CompanyID: s.live, ID: "others", CreatedAt: mayDay.AddDate(0, 0, -40), TotalMinor: 20000,
		InfluencerID: s.Influencer(s.live, "Beto Lima"), Evidence: "coupon", CommissionMinor: 55500})
	s.Put(reporttest.Order{CompanyID: s.live, ID: "later", CreatedAt: mayDay, TotalMinor: 20000, InfluencerID: s.ana, Evidence: "coupon",
		CommissionMinor: 66600})
	path := s.path(s.link)
	if _, page := s.get(path, "en"); !strings.Contains(page, "This statement is being closed.") {
		t.Errorf("while it is closing: %s", page)
	}
	if answer, _ := s.get(path+"/csv", "en"); answer.StatusCode != http.StatusNotFound {
		t.Errorf("its CSV while it is closing: %s", answer.Status)
	}
	s.Close(s.live)
	f := func(language string, want ...string) {
		t.Helper()
		answer, page := s.get(path, language)
		for _, text := range want {
			if answer.StatusCode != http.StatusOK || !strings.Contains(page, text) {
				t.Errorf("%s: %s, and %q is not in\n%s", language, answer.Status, text, page)
			}
		}
		for _, text := range []string{"maria", "others", "Beto", "later", "666", "Log in"} {
			if strings.Contains(page, text) {
				t.Errorf("%s: the page says %q", language, text)
			}
		}
		for name, want := range map[string]string{"Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
			"X-Robots-Tag": "noindex, nofollow, noarchive", "X-Content-Type-Options": "nosniff",
			"Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'none'; base-uri 'none'; " +
				"frame-ancestors 'none'"} {
			if got := answer.Header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		if len(answer.Cookies()) > 0 {
			t.Errorf("cookies: %v", answer.Cookies())
		}
	}
	f("en", "Statement no. 1 21 Apr 2026 – 30 Apr 2026 · issued on", "Store Loja Exemplo Influencer Ana Prado", "Closed: to be paid",
		"3 lines R$ 2,468.00 Total R$ 2,468.00",
		"100000 coupon 22 Mar 2026 R$ 200.00 R$ 200.00 – R$ 1,234.50", "(email) coupon 22 Mar 2026 R$ 200.00 R$ 200.00 – −R$ 1.00",
		"It is no tax document")
	f("pt-BR", "Extrato de comissões nº 1", "21/04/2026 – 30/04/2026", "3 linhas R$ 2.468,00",
		"100001 cupom 22/03/2026 R$ 200,00 R$ 200,00 – R$ 1.234,50",
		"Não é documento fiscal")

	answer, _ := s.get(path+"/csv", "en")
	if answer.Header.Get("Content-Disposition") != `attachment; filename="statement-1.csv"` {
		t.Errorf("%v", answer.Header)
	}
	if err := s.DB.PayStatement(t.Context(), commerce.Author{CompanyID: s.live, Actor: "test", At: mayDay},
		commerce.StatementPayment{StatementID: s.statement, PaidAt: mayDay, Reference: "PIX <8127>"}); err != nil {
		t.Fatal(err)
	}
	f("en", "Paid on 1 May 2026 Reference: PIX &lt;8127&gt;")
}

// Who has a link is anybody: the influencer's document and key are masked there, and whole for owners alone. Orders have the shop's
// own number, and the file in Portuguese opens in a spreadsheet.
func TestAStatementNamesBothPartiesAndTheOrderAsTheShopDoes(t *testing.T) {
	t.Parallel()
	s := newLinkedSite(t, 0)
	s.Put(reporttest.Order{CompanyID: s.live, ID: "demo-915", Name: "#915", CreatedAt: mayDay.AddDate(0, 0, -40), TotalMinor: 20000,
		InfluencerID: s.ana, Evidence: "link", CommissionMinor: 1800})
	named := func(c *commerce.Settings) { c.LegalName, c.TaxID = "Loja Exemplo Ltda", "11.222.333/0001-81" }
	if _, _, err := s.DB.ChangeSettings(t.Context(), commerce.SettingsChange{CompanyID: s.live, Actor: "test", Change: named}); err != nil {
		t.Fatal(err)
	}
	if err := s.DB.UpdateInfluencer(t.Context(), commerce.Author{CompanyID: s.live, Actor: "test"}, "Ana Prado", commerce.InfluencerChange{
		Details: commerce.DetailsChange{Document: wire.Some("52998224725"),
			Pix: wire.Some(commerce.Pix{Type: commerce.PixEmail, Key: "ana@example.com"})}}); err != nil {
		t.Fatal(err)
	}
	s.Close(s.live)
	const whole, key, store = "529.982.247-25", "ana@example.com", "Loja Exemplo Ltda CPF/CNPJ 11.222.333/0001-81"
	_, linked := s.get(s.path(s.link), "pt-BR")
	if !contains(linked, store, "Ana Prado CPF/CNPJ …4725 Chave Pix a…@example.com",
		"#915 pelo link 22/03/2026 R$ 200,00 R$ 200,00 – R$ 18,00") ||
		strings.Contains(linked, "demo-915") {
		t.Errorf("by the link: %s", linked)
	}
	owner, at := s.loggedIn(), "?"+url.Values{"company": {s.live}, "id": {s.statement}}.Encode()
	s.inPortuguese(owner)
	if got := s.readAs(owner, "/dashboard/statement"+at); !contains(got, store, whole, key) {
		t.Errorf("for an owner: %s", got)
	}
	finance := s.join(account.RoleFinance, "caio@loja.example", s.Store.StoreID)
	for what, got := range map[string]string{"by the link": linked, "the link's file": s.readRaw(s.client(), s.path(s.link)+"/csv"),
		"for finance": s.readAs(finance, "/dashboard/statement"+at), "their file": s.readRaw(finance, "/dashboard/statement.csv"+at)} {
		if strings.Contains(got, whole) || strings.Contains(got, "52998224725") || strings.Contains(got, key) || !strings.Contains(got, "…4725") {
			t.Errorf("%s: %s", what, got)
		}
	}
	if got := s.readRaw(owner, "/dashboard/statement.csv"+at); !contains(got, "\ufeffNúmero;Emitido em;Loja;CPF/CNPJ da loja;Influenciador;",
		";Loja Exemplo Ltda;11.222.333/0001-81;Ana Prado;"+whole+";pedido;#915;22/03/2026;200,00;200,00;;link;;18,00;BRL;demo-915") {
		t.Errorf("the owner's file: %s", got)
	}
}

func TestALinkThatIsAlteredExpiredOrRevokedShowsNothing(t *testing.T) {
	t.Parallel()
	s := newLinkedSite(t, 1)
	s.Close(s.live)
	f := func(what, path string, want int) {
		t.Helper()
		for _, of := range []string{"", "/csv"} {
			answer, page := s.get(path+of, "en")
			if answer.StatusCode != want || want != http.StatusOK && strings.Contains(page, "100000") {
				t.Errorf("%s%s: %s, want %d\n%s", what, of, answer.Status, want, page)
			}
			if answer.Header.Get("X-Robots-Tag") == "" || answer.Header.Get("Referrer-Policy") != "no-referrer" {
				t.Errorf("%s%s: %v", what, of, answer.Header)
			}
		}
	}
	path := s.path(s.link)
	f("as it was made", path, http.StatusOK)
	altered := []byte(path)
	altered[len(altered)-5] ^= 1
	f("altered", string(altered), http.StatusNotFound)
	f("cut", path[:len(path)-1], http.StatusNotFound)
	f("nothing", statementlink.Path+"x", http.StatusNotFound)
	beto := s.link
	beto.InfluencerID = s.Influencer(s.live, "Beto Lima")
	f("another influencer", s.path(beto), http.StatusNotFound)
	sandbox := s.link
	sandbox.CompanyID = s.box
	f("another company", s.path(sandbox), http.StatusNotFound)
	s.setClock(s.link.Expires)
	f("expired", path, http.StatusGone)
	s.setClock(mayDay)
	number, err := s.DB.LinkNumber(t.Context(), commerce.Author{CompanyID: s.live, Actor: "test"}, s.statement, true)
	if err != nil {
		t.Fatal(err)
	}
	f("revoked", path, http.StatusNotFound)
	again := s.link
	again.Number = number
	f("a new one", s.path(again), http.StatusOK)
}

func TestALongStatementHasPagesAndAWholeCSV(t *testing.T) {
	t.Parallel()
	s := newLinkedSite(t, 1203)
	s.Put(reporttest.Order{CompanyID: s.live, ID: "=1+2", CreatedAt: mayDay.AddDate(0, 0, -40), TotalMinor: 20000, InfluencerID: s.ana,
		Evidence: "coupon", CommissionMinor: -50})
	s.Close(s.live)
	path := s.path(s.link)
	rows := 0
	for next, pages := path, 0; next != ""; pages++ {
		answer, err := s.client().Get(s.url + next)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK || pages > 3 {
			t.Fatalf("page %d: %s, %v", pages, answer.Status, err)
		}
		rows += strings.Count(string(body), `scope="row"`)
		next = ""
		if _, after, more := strings.Cut(string(body), `">First page</a>`); more || pages == 0 {
			if _, link, found := strings.Cut(string(body), `?after=`); found {
				end, _, _ := strings.Cut(link, `"`)
				next = path + "?after=" + end
			}
			_ = after
		}
	}
	if rows != 1204 {
		t.Errorf("%d orders on all pages", rows)
	}
	answer, err := s.client().Get(s.url + path + "/csv")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	table, err := csv.NewReader(answer.Body).ReadAll()
	if err != nil || len(table) != 1205 {
		t.Fatalf("%d lines, %v", len(table), err)
	}
	if !slices.Equal(table[0][6:], []string{"kind", "order", "day", "order_value", "base", "rate", "evidence", "coupon", "amount", "currency",
		"order_id"}) || !slices.ContainsFunc(table, func(row []string) bool {
		return slices.Equal(row[6:], []string{"order", "'=1+2", "2026-03-22", "200.00", "200.00", "", "coupon", "", "-0.50", "BRL", "'=1+2"})
	}) {
		t.Errorf("%v …", table[:3])
	}
	if answer, _ := s.get(path+"?after=%00", "en"); answer.StatusCode != http.StatusBadRequest {
		t.Errorf("a bad place: %s", answer.Status)
	}
}

// The page is readable on a phone and on paper, and the browser obeys its policy.
func TestALinkedStatementFitsAPhoneAndAPage(t *testing.T) {
	browser := devtest.Shell(t)
	s := newLinkedSite(t, 3)
	s.Put(reporttest.Order{CompanyID: s.live, ID: strings.Repeat("long-", 40), CreatedAt: mayDay.AddDate(0, 0, -40), TotalMinor: 20000,
		InfluencerID: s.ana, Evidence: "coupon", CommissionMinor: 999_999_999_999})
	s.Close(s.live)
	page := browser.MustPage("").Timeout(2 * time.Minute)
	page.MustNavigate(s.url + s.path(s.link)).MustWaitLoad()
	for _, width := range []int{1280, 390} {
		page.MustSetViewport(width, 800, 1, width < 500)
		if wide := page.MustEval(`() => document.documentElement.scrollWidth > document.documentElement.clientWidth`).Bool(); wide {
			t.Errorf("at %d px the page is wider than the screen", width)
		}
	}
	if page.MustEval(`() => getComputedStyle(document.querySelector('.total')).fontWeight`).Str() != "650" {
		t.Error("the style is not applied")
	}
	if n := page.MustEval(`() => document.scripts.length`).Int(); n != 0 {
		t.Errorf("%d scripts", n)
	}
	shots := shooter{t: t, page: page, dir: os.Getenv("TRIBUTARY_SHOTS")}
	shots.take("linked-statement")
}

// Whoever has a link is not logged in: what they make the database read is bounded.
func TestALinkedStatementIsNotReadTooOften(t *testing.T) {
	t.Parallel()
	s := newLinkedSite(t, 1)
	path, most := s.path(s.link), 0
	for range 100 {
		answer, _ := s.get(path+"/csv", "en")
		if answer.StatusCode == http.StatusTooManyRequests {
			if answer.Header.Get("Retry-After") != "1" {
				t.Errorf("Retry-After is %q", answer.Header.Get("Retry-After"))
			}
			break
		}
		most++
	}
	if most != 60 {
		t.Errorf("it is read %d times at once", most)
	}
	s.link.Expires = s.link.Expires.Add(time.Second) // another link to the same
	if answer, text := s.get(s.path(s.link), "pt-BR"); answer.StatusCode != http.StatusTooManyRequests ||
		!strings.Contains(text, "Visitas demais") {
		t.Errorf("%d: %s", answer.StatusCode, text)
	}
	s.setClock(mayDay.Add(time.Second))
	if answer, _ := s.get(path, "en"); answer.StatusCode != http.StatusOK {
		t.Errorf("a second later: %d", answer.StatusCode)
	}
}

func TestAnOwnerMakesALinkAndTheAuditLogSaysSo(t *testing.T) {
	t.Parallel()
	s := newLinkedSite(t, 1)
	owner, at := s.loggedIn(), "?company="+s.live
	status, text := s.makes(owner, "/dashboard/statements/link"+at, url.Values{"statement": {strings.ToUpper(s.statement)}})
	_, token, found := strings.Cut(text, statementlink.Path)
	if status != http.StatusSeeOther || !found {
		t.Fatalf("%d: %s", status, text)
	}
	token = token[:strings.IndexFunc(token, func(r rune) bool {
		return !strings.ContainsRune("-_", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})]
	if answer, text := s.get(statementlink.Path+token, "en"); answer.StatusCode != http.StatusOK || !strings.Contains(text, "Ana Prado") {
		t.Errorf("%d: %s", answer.StatusCode, text)
	}
	if text := s.readAs(owner, "/dashboard/audit"+at+"&kind=statement."); !contains(text, "Link to a statement made", testEmail) {
		t.Errorf("the audit log reads %q", text)
	}
	if status, _, _ := s.send(owner, "/dashboard/statements/link?company="+s.box,
		url.Values{"statement": {s.statement}}); status != http.StatusNotFound {
		t.Errorf("from the other environment: %d", status)
	}
}
