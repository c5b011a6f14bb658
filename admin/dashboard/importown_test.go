package dashboard_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// wholeFile has all that an import can say, in Portuguese: two coupons, an amount that is owed, a campaign with an
// agreement of its own, one who has an agreement alone, and a name that a spreadsheet would take for a formula.
const wholeFile = "Nome;Categoria;Campanha;Id da campanha;Links;Cupom;Início do cupom;Fim do cupom;Comissão %;Valor por pedido;" +
	"Valor fixo;Frequência;Devido desde;Início do acordo;Fim do acordo;Só com cupom;Só na campanha;E-mail;Telefone;CPF;Tipo da chave;" +
	"Chave Pix;Instagram;Observações\r\n" +
	"Ana Prado;Moda;;;https://loja.example.com/a https://loja.example.com/b;ANA10;01/11/2026;30/11/2026;12,5;2,50;;;;01/11/2026;;sim;;" +
	"ana@example.com;(11) 98888-7766;529.982.247-25;CPF;529.982.247-25;@ana @ana.prado;paga no dia 5\r\n" +
	"Ana Prado;;;;;ANA20;01/12/2026;;;;1.500,00;mensal;01/01/2027;01/12/2026;;;;;;;;;;\r\n" +
	"Ana Prado;;Verão;verao-27;https://loja.example.com/verao;;;;20;;;;;15/12/2026;31/01/2027;;sim;;;;;;;\r\n" +
	"=Beto;;;;;;;;;;300;por semana;;01/12/2026;;;;;;;;;;\r\n"

// The file of influencers is read again: another store that imports it has the same influencers, and the same file.
func TestTheInfluencersFileIsTheirImport(t *testing.T) {
	t.Parallel()
	for _, portuguese := range []bool{true, false} {
		exported := wholeFile
		var files []string
		for range 2 {
			s := newSite(t)
			owner := s.loggedIn()
			if portuguese || len(files) == 0 {
				s.inPortuguese(owner)
			}
			if status, text := s.upload(owner, exported, "step", "save"); status != http.StatusSeeOther || !slices.Contains(s.names(), "=Beto") {
				t.Fatalf("%d: %s", status, text)
			}
			if len(files) == 0 && !portuguese {
				s.inEnglish(owner)
			}
			exported = s.readRaw(owner, "/dashboard/influencers.csv?company="+s.live)
			files = append(files, withoutIDs(t, exported))
		}
		if files[0] != files[1] {
			t.Errorf("the file:\n%s\nof those imported from it:\n%s", files[0], files[1])
		}
		want := []string{"\"1500,00\";por mês;01/01/2027;01/12/2026", "ANA10;01/11/2026;30/11/2026;12,5;2,50", "Verão", "'=Beto", "300,00",
			"@ana @ana.prado"}
		if !portuguese {
			want = []string{"1500.00,monthly,2027-01-01,2026-12-01", "ANA10,2026-11-01,2026-11-30,12.5,2.50", "'=Beto", "300.00"}
		}
		for _, part := range want {
			if !strings.Contains(strings.ReplaceAll(files[0], `"`, ""), strings.ReplaceAll(part, `"`, "")) {
				t.Errorf("the file has no %s: %s", part, files[0])
			}
		}
	}
}

// revision is that of the store's rules: each change has one.
func (s *site) revision() int64 {
	s.t.Helper()
	company, err := s.DB.Company(s.t.Context(), s.live)
	if err != nil {
		s.t.Fatal(err)
	}
	return company.RulesRev
}

// The store's own file says nothing new to it: nothing is added twice, in whole or beside something new.
func TestTheInfluencersFileChangesNothingInItsStore(t *testing.T) {
	t.Parallel()
	for _, portuguese := range []bool{true, false} {
		s := newSite(t)
		owner := s.loggedIn()
		s.inPortuguese(owner)
		if status, text := s.upload(owner, wholeFile, "step", "save"); status != http.StatusSeeOther {
			t.Fatalf("%d: %s", status, text)
		}
		none, some := "%d linhas sem mudança", "1 linha pode ser importada"
		if !portuguese {
			s.inEnglish(owner)
			none, some = "%d lines without a change", "1 line can be imported"
		}
		exported := s.readRaw(owner, "/dashboard/influencers.csv?company="+s.live)
		before := s.revision()
		none = fmt.Sprintf(none, strings.Count(exported, "\n")-1)
		if status, text := s.upload(owner, exported); status != http.StatusOK || !contains(text, none) {
			t.Errorf("%d: %s", status, text)
		}
		if status, text := s.upload(owner, exported, "step", "save"); status != http.StatusUnprocessableEntity || s.revision() != before {
			t.Errorf("%d, revision %d, want %d: %s", status, s.revision(), before, text)
		}
		separator := map[bool]string{true: ";", false: ","}[portuguese]
		added := exported + "Zoe" + strings.Repeat(separator, 4) + "ZOE\r\n"
		if status, text := s.upload(owner, added); !contains(text, some) {
			t.Errorf("%d: %s", status, text)
		}
		if status, text := s.upload(owner, added, "step", "save"); status != http.StatusSeeOther || s.revision() != before+1 {
			t.Errorf("%d, revision %d, want %d: %s", status, s.revision(), before+1, text)
		}
		again := s.readRaw(owner, "/dashboard/influencers.csv?company="+s.live)
		for line := range strings.Lines(exported) {
			if strings.Count(again, line) != strings.Count(exported, line) {
				t.Errorf("%q is not there as before: %s", line, again)
			}
		}
	}
}

// What is owed once, in a file without its day, is not owed again where the same file is read on a later day. With another day it is.
func TestWhatIsOwedOnceIsNotAddedAgainLater(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner := s.loggedIn()
	s.setClock(time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC))
	const file = "name,coupon,value,frequency\nAna Prado,ANA10,500,once\n"
	if status, text := s.upload(owner, file, "step", "save"); status != http.StatusSeeOther {
		t.Fatalf("%d: %s", status, text)
	}
	before := s.revision()
	s.setClock(time.Date(2026, 11, 23, 15, 0, 0, 0, time.UTC))
	owner = s.loggedIn()
	if status, text := s.upload(owner, file); status != http.StatusOK ||
		!contains(text, "1 line without a change", "0 lines can be imported") {
		t.Errorf("%d: %s", status, text)
	}
	if s.upload(owner, file, "step", "save"); s.revision() != before {
		t.Error("it is owed twice")
	}
	s.inPortuguese(owner)
	if _, text := s.upload(owner, file); !contains(text, "1 linha sem mudança") {
		t.Errorf("%s", text)
	}
	s.inEnglish(owner)
	for _, other := range []string{"name,value,frequency,cost_start\nAna Prado,500,once,2026-11-23\n",
		"name,value,frequency\nAna Prado,400,once\n"} {
		if status, text := s.upload(owner, other); status != http.StatusOK || !contains(text, "1 line can be imported") {
			t.Errorf("%q: %d: %s", other, status, text)
		}
	}
}

// A shop's file without first days of agreements is read on another day: what is in force is not agreed on again, which would
// pay both.
func TestTheSameAgreementIsNotMadeAgainLater(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner := s.loggedIn()
	if status, text := s.upload(owner, "name,coupon,var_fee,monthly,cost_start\nAna Prado,ANA10,10,500,2026-01-01\n",
		"step", "save"); status != http.StatusSeeOther {
		t.Fatalf("%d: %s", status, text)
	}
	before := s.revision()
	for file, want := range map[string]string{
		"name,coupon,var_fee,monthly\nAna Prado,ANA10,10,500\n":                                       "1 line without a change",
		"name,coupon,var_fee,monthly\nAna Prado,ANA10,12,500\n":                                       "1 line can be imported",
		"name,coupon,var_fee,value,frequency,cost_start\nAna Prado,ANA10,10,500,monthly,2025-12-01\n": "1 line can be imported",
	} {
		if status, text := s.upload(owner, file); !contains(text, want) || s.revision() != before {
			t.Errorf("%q: %d: %s", file, status, text)
		}
	}
}

// The file that shows how one looks is one.
func TestTheModelFileIsImported(t *testing.T) {
	t.Parallel()
	for _, portuguese := range []bool{true, false} {
		s := newSite(t)
		owner := s.loggedIn()
		want := []string{"Download a model file", "Coupon · Coupon: from"}
		if portuguese {
			s.inPortuguese(owner)
			want = []string{"Baixar um arquivo de modelo", "Cupom · Cupom: de"}
		}
		if text := s.readRaw(owner, "/dashboard/influencers/import?company="+s.live); !contains(text, want...) {
			t.Errorf("%s", text)
		}
		model := s.readRaw(owner, "/dashboard/influencers/import/model.csv?company="+s.live)
		if status, text := s.upload(owner, model); status != http.StatusOK || strings.Contains(text, "class=\"caution\"") {
			t.Errorf("%d: %s", status, text)
		}
		if status, text := s.upload(owner, model, "step", "save"); status != http.StatusSeeOther ||
			!slices.ContainsFunc(s.names(), func(name string) bool { return strings.HasPrefix(name, "Ana Prado (") }) {
			t.Errorf("%d: %s\n%s", status, text, model)
		}
	}
}

// withoutIDs is a file without the influencers' ids, which are the last column.
func withoutIDs(t *testing.T, file string) string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(file), "\n")
	for i, line := range lines {
		lines[i] = line[:strings.LastIndexAny(line, ",;")]
	}
	return strings.Join(lines, "\n")
}
