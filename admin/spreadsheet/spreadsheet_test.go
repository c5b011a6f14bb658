package spreadsheet

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lang"
)

func TestASpreadsheetIsReadAsPeopleWriteIt(t *testing.T) {
	t.Parallel()
	texts, err := site.LoadTexts()
	if err != nil {
		t.Fatal(err)
	}
	tag := "en"
	f := func(file, want string) []Line {
		t.Helper()
		table, err := Parse([]byte(file), "", texts.Of(tag))
		if err == nil {
			err = table.Check()
		}
		var lines []Line
		text := ""
		if err != nil {
			text = site.TypedText(texts.Of("en"), err)
		} else {
			lines = table.Lines(Reading{File: texts.Of(tag), Page: texts.Of("en"), Today: "2026-03-01", Company: "c_1", Country: "BR"})
		}
		for _, line := range lines {
			text += strings.Join(line.Problems, "; ")
		}
		if want == "" && text != "" || !strings.Contains(text, want) {
			t.Errorf("%.200q: %.500q, want %q", file, text, want)
		}
		return lines
	}
	lines := f("\ufeffname;links;coupon;var_fee;fixed_fee;cost_start;coupon_only\r\n"+
		"Ana Prado;https://loja.example.com/a https://loja.example.com/b;ana20;12,5%;1.234,50;2026-03-01;sim\r\n"+
		"Beto;https://loja.example.com/;;;;;\r\n;;;;;;\r\n", "")
	if len(lines) != 2 || len(lines[0].Asked.Links) != 2 || lines[0].Asked.Coupons[0].Code != "ANA20" ||
		lines[0].Asked.Costs[0].FixedFeeMinor != 123450 || lines[0].Asked.Costs[0].VarFee.String() != "12.5" ||
		!lines[0].Asked.Costs[0].CouponCost || lines[1].Number != 3 || len(lines[1].Asked.Costs) != 0 {
		t.Errorf("%+v", lines)
	}
	if asked := f("name,links\nAna,\n", "")[0].Asked; !asked.KnownOnly { // whom it adds to is looked up when it is registered
		t.Errorf("%+v", asked)
	}
	f("name,links\n,https://loja.example.com/\n", "name is empty")
	f("name,links,var_fee\nAna,https://loja.example.com/,much\n", `var_fee "much": must be a number`)
	f("name,links,coupon,coupon_start\nAna,https://loja.example.com/,A,31/03/2026\n", `coupon_start "31/03/2026": must be a day`)
	f("category\n", "no column is read as the name")
	f("", "its first line")
	f("name,links\nAna,a,b,c\n", "line 2 has more cells than the 2 columns")
	f("name,links\nAna,\"a\n", "line 2 cannot be read")
	f("name,links\n"+strings.Repeat("a,b\n", MaxLines+1), "more than 5,000 lines")
	f("name\n"+strings.Repeat("a", MaxBytes), "more than 2 MiB")
	f("name\nA\x00\n", "is no text")
	f(strings.Repeat("a,", maxColumns)+"b\n", "more than 60 columns")
	for _, word := range []string{"sim", "YES", "true", "1", "no", "não", "nao", "false", "0", ""} {
		f("name,links,var_fee,coupon_only\nAna,https://loja.example.com/,10,"+word+"\n", "")
	}
	f("name,links,var_fee,coupon_only\nAna,https://loja.example.com/,10,maybe\n", `coupon_only "maybe": is neither yes nor no`)
	// What belongs to a coupon or a fee that is not there was meant for one.
	f("name,links,coupon,coupon_end\nAna,https://loja.example.com/,,2026-03-31\n", "coupon_end needs a coupon")
	f("name,links,var_fee,cost_end\nAna,https://loja.example.com/,,2026-03-31\n", "cost_end needs a percent")
	f("name,coupon,pix_key\nAna,A,52998224725\n", "a key's type is never guessed")
	f("nome;cupom;CPF\nAna;A;111\n", "CPF")
	f("nome;cupom;CPF\nAna;A;1234567890\n", "the spreadsheet has dropped it")
	// The file says in which language its numbers and days are.
	const terms = "name;links;fixed_fee;cost_start\nAna;https://loja.example.com/;"
	f(terms+"1.500;2026-03-01\n", `fixed_fee "1.500": 1.500 can be R$`+"\u00a01,500.00 or R$\u00a01.50")
	f(terms+"1500;11/01/2026\n", "11/01/2026 can be 2026-01-11 or 2026-11-01")
	tag = "pt-BR"
	cost := f(terms+"R$ 1.500;11/01/2026\n", "")[0].Asked.Costs[0]
	if cost.FixedFeeMinor != 150000 || cost.StartDate != "2026-01-11" {
		t.Errorf("%+v", cost)
	}
	f(terms+"1,500;2026-03-01\n", `fixed_fee "1,500": 1,500 can be R$`+"\u00a01.500,00 or R$\u00a01,50")
	f(terms+"5%;2026-03-01\n", "not a percentage")
}

// A Brazilian spreadsheet saves Windows-1252, in Portuguese, with columns that are ours and others.
func TestAFileOfABrazilianSpreadsheetIsRead(t *testing.T) {
	t.Parallel()
	texts, err := site.LoadTexts()
	if err != nil {
		t.Fatal(err)
	}
	const file = "Nome;Seguidores;Cupom;Início do cupom;Comissão (%);Valor por venda;" +
		"E-mail;Celular;CPF/CNPJ;Chave Pix;Tipo de chave Pix;Instagram\r\n" +
		"Júlia Conceição;12.000;júlia10;01/11/2026;12,5%;R$ 2,50;" +
		"julia@example.com;(11) 98888-7766;529.982.247-25;julia@example.com;E-mail;@julia\r\n"
	raw, err := charmap.Windows1252.NewEncoder().String(file)
	if err != nil {
		t.Fatal(err)
	}
	table, err := Parse([]byte(raw), "", texts.Of("pt-BR"))
	if err != nil || table.Check() != nil || table.Columns[1] != "" || table.Text() != file {
		t.Fatalf("%v, %q, %q", err, table.Columns, table.Text())
	}
	in := texts.Of("pt-BR")
	line := table.Lines(Reading{File: in, Page: in, Today: "2026-11-05", Company: "c_1", Country: "BR"})[0]
	asked := line.Asked
	if len(line.Problems) != 0 || asked.Name != "Júlia Conceição" ||
		asked.Coupons[0] != (commerce.CouponTerms{Code: "JÚLIA10", StartDate: "2026-11-01"}) ||
		asked.Costs[0].VarFee.String() != "12.5" || asked.Costs[0].FixedFeeMinor != 250 || asked.Costs[0].StartDate != "2026-11-05" ||
		asked.Details.Phone.Value != "+5511988887766" || asked.Details.Document.Value != "52998224725" ||
		asked.Details.Pix.Value != (commerce.Pix{Type: commerce.PixEmail, Key: "julia@example.com"}) || !asked.CouponOnly {
		t.Errorf("%+v", line)
	}
	if got := table.Examples(1, 2); len(got) != 1 || got[0] != "12.000" {
		t.Errorf("%q", got)
	}
	// A column may be read as something else, and not twice.
	if err := errors.Join(table.Choose(1, "notes"), table.Check()); err != nil {
		t.Error(err)
	}
	var typed *lang.TypedError
	if err := errors.Join(table.Choose(1, "email"), table.Check()); !errors.As(err, &typed) || typed.Key != "import.twice" {
		t.Error(err)
	}
	for column, field := range map[int]string{-1: "name", 12: "name", 0: "salary"} {
		if table.Choose(column, field) == nil {
			t.Errorf("column %d is read as %s", column, field)
		}
	}
}

// Each field has a label in both languages, and each header leads to a field.
func TestFieldsAndHeadersAreKnown(t *testing.T) {
	t.Parallel()
	texts, err := site.LoadTexts()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, field := range Fields {
		known[field] = true
		for _, tag := range lang.Tags {
			if label := texts.Of(tag).T("import.field_" + field); fieldOf(label) != field {
				t.Errorf("%q, the label of %s in %s, is read as %q", label, field, tag, fieldOf(label))
			}
		}
	}
	for header, field := range headers {
		if !known[field] || plain(header) != header {
			t.Errorf("%q is %q; plain: %q", header, field, plain(header))
		}
	}
}

// What shops write over a column is known, with its unit or without.
func TestHeadersOfShopsAreKnown(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{"Percentual das vendas": "var_fee", "Comissão (%)": "var_fee", "% Comissão": "var_fee",
		"COMISSAO%": "var_fee", "Valor por pedido em R$": "fixed_fee", "Valor por pedido (R$)": "fixed_fee", "Valor fixo em R$": "value",
		"Cachê": "value", "Cachê (R$)": "value", "Cachê mensal (R$)": "monthly", "Fixo mensal": "monthly", "Mensalidade R$": "monthly",
		"Acordo: de": "cost_start", "Com que frequência se paga o valor fixo": "frequency", "Nome *": "name", "Comissão em %": "var_fee",
		"R$": "", "%": "", "em": "", "Seguidores": "", "Comissão fixa": ""} {
		if got := fieldOf(header); got != want {
			t.Errorf("%q is read as %q, want %q", header, got, want)
		}
	}
}

// Columns that are not read are named, those with numbers first: they may be what somebody is paid.
func TestColumnsThatAreNotReadAreNamed(t *testing.T) {
	t.Parallel()
	texts, err := site.LoadTexts()
	if err != nil {
		t.Fatal(err)
	}
	table, err := Parse([]byte("Nome;Cidade;Combinado;Taxa;Vazia;Pedidos em 30 dias\nAna;Recife;R$ 1.500,00;;;12\nBia;;;12,5%;;\n"), "",
		texts.Of("pt-BR"))
	if err != nil {
		t.Fatal(err)
	}
	if numbers, others := table.Unread(); !slices.Equal(numbers, []string{"Combinado", "Taxa"}) || !slices.Equal(others, []string{"Cidade"}) {
		t.Errorf("%q, %q", numbers, others)
	}
}

// A text that Excel saves as “Unicode text” is read in either byte order.
func TestUTF16IsRead(t *testing.T) {
	t.Parallel()
	texts, err := site.LoadTexts()
	if err != nil {
		t.Fatal(err)
	}
	for _, order := range []unicode.Endianness{unicode.LittleEndian, unicode.BigEndian} {
		raw, err := unicode.UTF16(order, unicode.UseBOM).NewEncoder().String("Nome\tCupom\r\nJúlia\tJULIA10\r\n")
		if err != nil {
			t.Fatal(err)
		}
		table, err := Parse([]byte(raw), "", texts.Of("pt-BR"))
		if err != nil || table.Check() != nil || table.Examples(0, 1)[0] != "Júlia" {
			t.Errorf("%v, %+v", err, table)
		}
	}
}

// How often is read as people write it. What is wrong is told with the column's name, and how to write it.
func TestWordsOfTheFixedAmount(t *testing.T) {
	t.Parallel()
	texts, err := site.LoadTexts()
	if err != nil {
		t.Fatal(err)
	}
	in := texts.Of("pt-BR")
	f := func(header, cells, want, problem string) {
		t.Helper()
		table, err := Parse([]byte("Nome;Cupom;"+header+"\nAna;ANA;"+cells+"\n"), "", in)
		if err != nil {
			t.Fatal(err)
		}
		line := table.Lines(Reading{File: in, Page: in, Today: "2026-03-01", Country: "BR"})[0]
		if got := strings.Join(line.Problems, "; "); got != problem {
			t.Errorf("%q %q: %q, want %q", header, cells, got, problem)
		}
		if problem == "" && line.Asked.Costs[0].Frequency != want {
			t.Errorf("%q %q: %q, want %q", header, cells, line.Asked.Costs[0].Frequency, want)
		}
	}
	for word, want := range map[string]string{"mensal": commerce.Monthly, "Mensalmente": commerce.Monthly, "mês": commerce.Monthly,
		"todo mês": commerce.Monthly, "por mês": commerce.Monthly, "semana": commerce.Weekly, "diário": commerce.Daily,
		"único": commerce.Specific, "weekly": commerce.Weekly} {
		f("Cachê;Frequência", "1.500,00;"+word, want, "")
	}
	f("Cachê mensal (R$)", "1.500,00", commerce.Monthly, "")
	f("Comissão;Frequência", "10;mensal", "", "")
	const words = "escreva mensal, semanal, por dia ou uma vez"
	f("Cachê;Pagamento;Frequência", "1.500,00;;às vezes", "", `Frequência "às vezes": `+words)
	f("Cachê", "1.500,00", "", "Cachê precisa da frequência: leia a coluna como “Valor fixo em R$ por mês”, ou acrescente a coluna "+
		"“Com que frequência se paga o valor fixo” com mensal, semanal, por dia ou uma vez")
	f("Fixo mensal;Frequência", "1.500,00;semanal", "", `Frequência "semanal": a coluna “Fixo mensal” já diz que é por mês: deixe vazio, `+
		"ou escreva mensal")
	f("Fixo mensal;Cachê;Frequência", "1.500,00;10;mensal", "", "Fixo mensal tem valor, e Cachê também: deixe um só")
	f("Valor fixo;Devido desde", "0;01/03/2026", "", "Valor fixo precisa de ao menos um valor maior que zero: por pedido, porcentagem ou "+
		"valor fixo")
}

// No column is named as programs name it, whatever a line has.
func TestProblemsNameTheColumn(t *testing.T) {
	t.Parallel()
	texts, err := site.LoadTexts()
	if err != nil {
		t.Fatal(err)
	}
	in := texts.Of("pt-BR")
	f := func(file, want string) {
		t.Helper()
		table, err := Parse([]byte(file), "", in)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(table.Lines(Reading{File: in, Page: in, Today: "2026-03-01", Country: "BR"})[0].Problems, "; ")
		if got != want {
			t.Errorf("%q: %q, want %q", file, got, want)
		}
	}
	f("Nome;Site\nAna;http://loja.example.com/\n", "Site comece com https://")
	f("Nome;Site\nAna;loja.example.com/a\n", "")
	f("Nome;Cupom;Pix\nAna;A;52998224725\n", "“Tipo de chave Pix” escolha o tipo da chave: 11 números podem ser CPF ou telefone")
	f("Nome;Cupom;Comissão;Só na campanha\nAna;A;10;sim\n", "Só na campanha precisa de “Id da campanha” na mesma linha")
	f("Nome;Instagram;Cupom\nAna;"+strings.Repeat("a", 300)+";A\n", "Instagram tem mais de 200 caracteres")
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("name;links\nAna;\"x\"\n"))
	f.Add([]byte("nome\tcupom\nJ\xfalia\tA\n"))
	texts, err := site.LoadTexts()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		table, err := Parse(raw, "", texts.Of("pt-BR"))
		if err != nil || table.Check() != nil {
			return
		}
		if _, err := Parse([]byte(table.Text()), "", texts.Of("pt-BR")); err != nil {
			t.Errorf("the text of a file that is read is not: %v", err)
		}
		table.Lines(Reading{File: texts.Of("pt-BR"), Page: texts.Of("en"), Today: "2026-03-01", Company: "c_1", Country: "BR"})
	})
}
