package dashboard_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"html"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/text/encoding/charmap"

	"github.com/tributary-io/tributary/admin/dashboard"
	"github.com/tributary-io/tributary/admin/spreadsheet"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/preview"
	"github.com/tributary-io/tributary/test/await"
)

// upload sends the import's form: a file, and other fields as name and value.
func (s *site) upload(client *http.Client, file string, fields ...string) (status int, text string) {
	s.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for i := 0; i < len(fields); i += 2 {
		if err := form.WriteField(fields[i], fields[i+1]); err != nil {
			s.t.Fatal(err)
		}
	}
	if part, err := form.CreateFormFile("file", "parceiros.csv"); err != nil {
		s.t.Fatal(err)
	} else if _, err := part.Write([]byte(file)); err != nil {
		s.t.Fatal(err)
	}
	if err := form.Close(); err != nil {
		s.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+"/dashboard/influencers/import?company="+s.live, &body)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Content-Type", form.FormDataContentType())
	return s.answer(client, request)
}

// names are the influencers that there are.
func (s *site) names() (list []string) {
	s.t.Helper()
	found, err := s.DB.FindInfluencers(s.t.Context(), s.live, commerce.InfluencerSearch{Sort: commerce.SortByName, From: "2026-01-01",
		Today: "2026-01-02", Currency: "BRL", Limit: 5000})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, i := range found {
		list = append(list, i.Name)
	}
	return list
}

const brazilianFile = "Nome;Seguidores;Links;Cupom;Comissão (%)\r\n" +
	"Júlia Conceição;12.000;https://loja.example.com/;JULIA10;12,5%\r\n" +
	"Caio d'Ávila;900;;CAIO5;10\r\n"

func TestASpreadsheetIsUploaded(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner := s.loggedIn()
	s.inPortuguese(owner)
	raw, err := charmap.Windows1252.NewEncoder().String(brazilianFile)
	if err != nil {
		t.Fatal(err)
	}
	before := len(s.names())
	status, text := s.upload(owner, raw)
	if status != http.StatusOK || !contains(text, "2 linhas podem ser importadas", "Nada foi gravado ainda", "12.000 · 900", "Seguidores") {
		t.Fatalf("%d: %s", status, text)
	}
	if len(s.names()) != before {
		t.Fatalf("what was looked at is stored: %q", s.names())
	}
	// The page carries the file to the next step.
	_, carried, _ := strings.Cut(text, "<textarea name=\"text\" hidden>\n")
	carried, _, _ = strings.Cut(carried, "</textarea>")
	carried = html.UnescapeString(carried)
	bad := carried + "Dora;1;;JULIA10;10\r\nEva;1;;EVA;muito\r\n"
	status, text = s.upload(owner, "", "text", bad, "step", "look")
	if status != http.StatusOK || !contains(text, "2 linhas foram recusadas", "o cupom JULIA10 é de uma linha anterior") {
		t.Fatalf("%d: %s", status, text)
	}
	status, text = s.upload(owner, "", "text", bad, "step", "save")
	if status != http.StatusUnprocessableEntity || !contains(text, "Nada foi gravado: há linha recusada") || len(s.names()) != before {
		t.Fatalf("%d, %q: %s", status, s.names(), text)
	}
	if status, text = s.upload(owner, "", "text", bad, "step", "save", "partial", "yes"); status != http.StatusSeeOther ||
		len(s.names()) != before+2 {
		t.Fatalf("%d, %q: %s", status, s.names(), text)
	}
	// Again: all of it is known.
	if status, text = s.upload(owner, raw); !contains(text, "2 linhas sem mudança", "0 linhas podem ser importadas") ||
		contains(text, "Importar</button>") {
		t.Errorf("%d: %s", status, text)
	}
	// A column may be left out, or read as another one.
	if status, text = s.upload(owner, "", "text", carried, "column-3", "", "column-4", "", "column-1", "notes"); !contains(text,
		"2 linhas podem ser importadas", "Colunas com números que não são lidas: Comissão (%)", "Outras colunas que não são lidas: Cupom") {
		t.Errorf("%d: %s", status, text)
	}
}

// carriedBook is what the page carries of a workbook with several sheets.
func carriedBook(text string) string {
	_, book, _ := strings.Cut(text, `name="book" value="`)
	book, _, _ = strings.Cut(book, `"`)
	return html.UnescapeString(book)
}

// workbook is an Excel workbook with two sheets, of which the first has these rows. Style 1 is a day, 2 a percentage.
func (s *site) workbook(rows string) string {
	s.t.Helper()
	var file bytes.Buffer
	w := zip.NewWriter(&file)
	for name, text := range map[string]string{
		"_rels/.rels":     `<a><Relationship Id="r" Target="xl/workbook.xml" Type="http://a/officeDocument"/></a>`,
		"xl/workbook.xml": `<workbook><sheets><sheet name="Parceiras" r:id="a"/><sheet name="Notas &amp; mais" r:id="c"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<a><Relationship Id="a" Target="sheet.xml" Type="http://a/worksheet"/>` +
			`<Relationship Id="b" Target="styles.xml" Type="http://a/styles"/>` +
			`<Relationship Id="c" Target="second.xml" Type="http://a/worksheet"/></a>`,
		"xl/second.xml": `<a><row><c t="str"><v>Observações</v></c><c t="str"><v>Nome</v></c><c t="str"><v>Cupom</v></c></row>` +
			`<row><c t="str"><v>paga no dia 5</v></c><c t="str"><v>Dora Lima</v></c><c t="str"><v>DORA5</v></c></row></a>`,
		"xl/styles.xml": `<a><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="10"/></cellXfs></a>`,
		"xl/sheet.xml":  "<a>" + rows + "</a>",
	} {
		if part, err := w.Create(name); err != nil {
			s.t.Fatal(err)
		} else if _, err := io.WriteString(part, text); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		s.t.Fatal(err)
	}
	return file.String()
}

// A workbook is read as the page's language types its cells; the step that saves has it as text.
func TestAWorkbookIsUploaded(t *testing.T) {
	t.Parallel()
	for _, portuguese := range []bool{true, false} {
		s := newSite(t)
		owner := s.loggedIn()
		refused := []string{"29.8950&#34;: can have at most 2", "format the column as text"}
		said := []string{"Sheet of the workbook", "1 line can be imported"}
		if portuguese {
			s.inPortuguese(owner)
			refused = []string{"29,8950&#34;: pode ter no máximo 2", "formate a coluna como texto"}
			said = []string{"Planilha do arquivo", "1 linha pode ser importada"}
		}
		header := "<row>"
		for _, name := range []string{"Nome", "Cupom", "Cupom de", "Comissão", "Valor por venda", "Valor fixo", "Frequência", "Celular", "CPF"} {
			header += `<c t="str"><v>` + name + "</v></c>"
		}
		file := s.workbook(header + `</row><row r="4"><c t="str"><v>Júlia Conceição</v></c><c t="str"><v>JULIA10</v></c>` +
			`<c s="1"><v>46327</v></c><c s="2"><v>0.125</v></c><c><v>2.5</v></c><c><v>1234.5</v></c>` +
			`<c t="str"><v>mensal</v></c><c><v>5511988887766</v></c><c><v>52998224725</v></c></row>`)
		status, text := s.upload(owner, file)
		if status != http.StatusOK || !contains(text, said[0], said[1]) {
			t.Fatalf("%d: %s", status, text)
		}
		status, text = s.upload(owner, "", "book", carriedBook(text), "sheet", "Parceiras", "sheet_read", "Parceiras", "step", "save")
		if status != http.StatusSeeOther {
			t.Fatalf("%d: %s", status, text)
		}
		want := []string{"Júlia Conceição", "JULIA10,2026-11-01,", "12.5,2.50,1234.50,monthly", "+5511988887766", "529.982.247-25"}
		if portuguese {
			want = []string{"Júlia Conceição", "JULIA10;01/11/2026;", "12,5;2,50;1234,50;por mês", "+55 11 98888-7766", "529.982.247-25"}
		}
		exported := s.readRaw(owner, "/dashboard/influencers.csv?company="+s.live)
		for _, part := range want {
			if !strings.Contains(exported, part) {
				t.Errorf("%s is not stored: %s", part, exported)
			}
		}
		// What is refused is named by its row in the sheet.
		status, text = s.upload(owner, s.workbook(header+`</row><row r="31"><c t="str"><v>Ana</v></c><c t="str"><v>ANA</v></c>`+
			`<c r="E31"><v>29.895</v></c><c r="I31"><v>1234567890</v></c></row>`))
		if status != http.StatusOK || !contains(text, ">31</th>", refused[0], refused[1]) {
			t.Errorf("%d: %s", status, text)
		}
	}
}

// Of several sheets one is chosen; what the page before showed of another one is never stored, nor are its columns read so.
func TestASheetOfAWorkbookIsChosen(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner := s.loggedIn()
	s.inPortuguese(owner)
	before := len(s.names())
	// The first sheet is no list: the page still offers the others.
	status, text := s.upload(owner, s.workbook(`<row><c t="str"><v>Assunto</v></c></row><row><c t="str"><v>nada</v></c></row>`))
	if status != http.StatusUnprocessableEntity || !contains(text, "nenhuma coluna é lida como o nome") ||
		!strings.Contains(text, `<option value="Parceiras" selected>`) || !strings.Contains(text, `<option value="Notas &amp; mais">`) {
		t.Fatalf("%d: %s", status, text)
	}
	book := carriedBook(text)
	status, text = s.upload(owner, "", "book", book, "sheet", "Notas & mais", "sheet_read", "Parceiras", "column-0", "name", "step", "save")
	if status != http.StatusOK || !contains(text, "1 linha pode ser importada", "Nada foi gravado ainda") || len(s.names()) != before ||
		!strings.Contains(text, `<option value="Notas &amp; mais" selected>`) {
		t.Fatalf("%d, %q: %s", status, s.names(), text)
	}
	if status, text = s.upload(owner, "", "book", book, "sheet", "Preços", "sheet_read", "Preços", "step", "save"); status !=
		http.StatusUnprocessableEntity || !contains(text, "não tem a planilha visível “Preços”") || !contains(text, "Planilha do arquivo") {
		t.Errorf("%d: %s", status, text)
	}
	if status, text = s.upload(owner, "", "book", "no base64", "step", "save"); status != http.StatusBadRequest {
		t.Errorf("%d: %s", status, text)
	}
	status, text = s.upload(owner, "", "book", book, "sheet", "Notas & mais", "sheet_read", "Notas & mais", "column-0", "notes",
		"column-1", "name", "step", "save")
	if status != http.StatusSeeOther || !slices.Contains(s.names(), "Dora Lima") || len(s.names()) != before+1 {
		t.Errorf("%d, %q: %s", status, s.names(), text)
	}
}

// A line with contacts alone adds to somebody who is known, and never changes where money goes.
func TestContactsAreAddedByAnImport(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner := s.loggedIn()
	s.inPortuguese(owner)
	if status, text := s.upload(owner, "Nome;Cupom;Comissão\nAna Prado;ANA10;10\nBia;BIA;\n"); status != http.StatusOK ||
		!contains(text, "2 linhas podem ser importadas", "1 influenciador sem acordo: fica sem comissão") {
		t.Fatalf("%d: %s", status, text)
	}
	if status, text := s.upload(owner, "Nome;Cupom;Comissão\nAna Prado;ANA10;10\nBia;BIA;\n", "step", "save"); status != http.StatusSeeOther {
		t.Fatalf("%d: %s", status, text)
	}
	const header = "Nome;E-mail;Celular;Pix;Tipo de chave Pix\n"
	status, text := s.upload(owner, header+"Ana Prado;ana@example.com;(11) 98888-7766;ana@example.com;e-mail\nZoe;zoe@example.com;;;\n")
	if status != http.StatusOK || !contains(text, "1 linha pode ser importada", "1 linha foi recusada",
		"não é um influenciador da loja, e um novo precisa de um link, um cupom ou um acordo") || contains(text, "sem acordo:") {
		t.Fatalf("%d: %s", status, text)
	}
	if status, text = s.upload(owner, header+"Ana Prado;ana@example.com;(11) 98888-7766;ana@example.com;e-mail\n", "step",
		"save"); status != http.StatusSeeOther {
		t.Fatalf("%d: %s", status, text)
	}
	exported := s.readRaw(owner, "/dashboard/influencers.csv?company="+s.live)
	if !contains(exported, "ana@example.com;+55 11 98888-7766;") {
		t.Errorf("%s", exported)
	}
	status, text = s.upload(owner, header+"Ana Prado;;;outra@example.com;e-mail\n", "step", "save")
	if status != http.StatusUnprocessableEntity || !contains(text, "uma importação não os altera") {
		t.Errorf("%d: %s", status, text)
	}
}

// A link is taken as people type it, without its scheme, by the form as by the import.
func TestLinksNeedNoScheme(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner := s.loggedIn()
	form := url.Values{"name": {"Ana"}, "links": {"loja.example.com/a"}, "step": {"save"}}
	if status, text, _ := s.send(owner, "/dashboard/influencers?company="+s.live, form); status != http.StatusSeeOther {
		t.Fatalf("%d: %s", status, text)
	}
	if status, text := s.upload(owner, "name,links\nBia,loja.example.com/b\n", "step", "save"); status != http.StatusSeeOther {
		t.Fatalf("%d: %s", status, text)
	}
	exported := s.readRaw(owner, "/dashboard/influencers.csv?company="+s.live)
	if !contains(exported, "https://loja.example.com/a,", "https://loja.example.com/b,") {
		t.Errorf("%s", exported)
	}
}

func TestWhatIsNoSpreadsheetIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner := s.loggedIn()
	f := func(file string, want int, words string, fields ...string) {
		t.Helper()
		if status, text := s.upload(owner, file, fields...); status != want || !strings.Contains(text, words) {
			t.Errorf("%.40q %q: %d, want %d with %q: %.2000s", file, fields, status, want, words, text)
		}
	}
	f("", http.StatusUnprocessableEntity, "Choose a file first")
	f("PK\x03\x04", http.StatusUnprocessableEntity, "the workbook is damaged")
	f("\xd0\xcf\x11\xe0", http.StatusUnprocessableEntity, "save it as .xlsx")
	f("category\nmoda\n", http.StatusUnprocessableEntity, "no column is read as the name")
	f(brazilianFile, http.StatusUnprocessableEntity, "cannot be read like that", "column-1", "salary")
	f("name\n"+strings.Repeat("a", spreadsheet.MaxBytes), http.StatusUnprocessableEntity, "more than 2 MiB")
	f("name\n"+strings.Repeat("a", 3*spreadsheet.MaxBytes), http.StatusBadRequest, "")
	f("name,links,email\n<script>alert(1)</script>,https://loja.example.com/,\n", http.StatusOK, "1 line can be imported")
	analyst := s.join(account.RoleAnalyst, "bia@loja.example", s.Store.StoreID)
	if status, _ := s.upload(analyst, brazilianFile); status != http.StatusForbidden {
		t.Errorf("an analyst imports: %d", status)
	}
}

// heldStore holds the row of the store's company, and returns what lets it go.
func (s *site) heldStore() (waiting func() bool, release func()) {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), s.DSN)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	tx, err := conn.Begin(s.t.Context())
	if err == nil {
		_, err = tx.Exec(s.t.Context(), `select 1 from company where company_id = $1 for update`, s.live)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return func() bool {
			var n int
			err := tx.QueryRow(s.t.Context(),
				`select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`).Scan(&n)
			return err != nil || n == 1
		}, func() {
			if err := tx.Rollback(s.t.Context()); err != nil {
				s.t.Fatal(err)
			}
		}
}

// An import that has no time says so, and loses nothing: the file and how its columns are read are sent again.
func TestAnImportWithoutTimeKeepsTheFile(t *testing.T) {
	t.Parallel()
	s := newSiteWith(t, preview.Limits{}, func(c *dashboard.Config) { c.ImportTime = time.Second })
	owner := s.loggedIn()
	owner.Timeout = 0
	s.inPortuguese(owner)
	_, release := s.heldStore()
	status, text := s.upload(owner, brazilianFile, "step", "save", "column-1", "notes")
	release()
	if status != http.StatusServiceUnavailable || !contains(text, "Não deu tempo de terminar", "O arquivo continua aqui",
		"Júlia Conceição;12.000", `value="notes" selected`) || len(s.names()) != 0 {
		t.Fatalf("%d %s", status, text)
	}
	form := strings.Split(text, "<form method=\"post\" enctype")[1]
	file, _, _ := strings.Cut(strings.Split(form, "<textarea name=\"text\" hidden>\n")[1], "</textarea>")
	await.Until(t, await.Long, func() bool {
		status, text = s.upload(owner, "", "text", html.UnescapeString(file), "step", "save", "column-1", "notes")
		return status == http.StatusSeeOther
	}, func() string { return fmt.Sprintf("%d %s", status, text) })
	if names := s.names(); len(names) != 2 {
		t.Errorf("%q", names)
	}
}

// Whoever sends one import after another has the connection of one.
func TestAPersonHasOneImportAtATime(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner := s.loggedIn()
	owner.Timeout = 0
	waiting, release := s.heldStore()
	first := make(chan int)
	go func() {
		status, _ := s.upload(owner, brazilianFile)
		first <- status
	}()
	await.Until(t, await.Long, waiting, func() string { return "the first import does not wait for the store's lock" })
	if status, _ := s.upload(owner, brazilianFile); status != http.StatusServiceUnavailable {
		t.Errorf("the second import: %d", status)
	}
	release()
	if status := <-first; status != http.StatusOK {
		t.Errorf("the first import: %d", status)
	}
}

// What takes longer than a page may is stored whole: an import has a time of its own.
func TestALargeSpreadsheetIsStoredWhole(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var file strings.Builder
	file.WriteString("name,coupon,var_fee\n")
	const lines = 1000
	for i := range lines {
		fmt.Fprintf(&file, "Partner %d,CODE%d,10\n", i, i)
	}
	before := len(s.names())
	owner := s.loggedIn()
	owner.Timeout = 0
	if status, text := s.upload(owner, file.String(), "step", "save"); status != http.StatusSeeOther ||
		len(s.names()) != before+lines {
		t.Errorf("%d, %d are stored: %.2000s", status, len(s.names())-before, text)
	}
}
