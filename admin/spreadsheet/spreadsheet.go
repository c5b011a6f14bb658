// Package spreadsheet reads a list of influencers as people save it from a spreadsheet: CSV in UTF-8 or
// Windows-1252, cut by commas, semicolons or tabs, or an Excel workbook, with headers in English or Portuguese.
package spreadsheet

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/tributary-io/tributary/internal/fold"
	"github.com/tributary-io/tributary/internal/lang"
)

// Bounds of a file.
const (
	MaxLines   = 5_000
	MaxBytes   = 2 << 20
	maxColumns = 60
)

// Fields are what a column can be read as, in the order in which pages offer them. Only name is needed.
var Fields = []string{"name", "category", "campaign", "links", "coupon", "coupon_start", "coupon_end", "var_fee", "fixed_fee",
	"value", "frequency", "owed_from", "cost_start", "cost_end", "coupon_only", "campaign_only", "campaign_id", "email", "phone",
	"document", "pix_type", "pix_key", "handles", "notes"}

// headers are the fields by a column's header, as plain writes it. The fields' own names are headers too.
var headers = map[string]string{
	"nome": "name", "influenciador": "name", "influenciadora": "name", "influencer": "name", "parceiro": "name", "parceira": "name",
	"creator": "name", "partner": "name",
	"categoria": "category", "nicho": "category", "campanha": "campaign",
	"link": "links", "url": "links", "destino": "links", "site": "links",
	"cupom": "coupon", "codigo": "coupon", "cupom de desconto": "coupon", "code": "coupon", "coupon code": "coupon", "discount code": "coupon",
	"inicio do cupom": "coupon_start", "cupom de": "coupon_start", "coupon from": "coupon_start",
	"fim do cupom": "coupon_end", "cupom ate": "coupon_end", "validade do cupom": "coupon_end", "validade": "coupon_end",
	"coupon until": "coupon_end",
	"comissao":     "var_fee", "comissao %": "var_fee", "percentual": "var_fee", "commission": "var_fee", "commission %": "var_fee",
	"valor por venda": "fixed_fee", "valor por pedido": "fixed_fee", "fixo por venda": "fixed_fee", "fixo por pedido": "fixed_fee",
	"amount per order": "fixed_fee",
	"valor fixo":       "value", "cache": "value", "mensalidade": "value", "fixed amount": "value",
	"frequencia": "frequency", "com que frequencia": "frequency", "periodicidade": "frequency", "how often": "frequency",
	"devido desde": "owed_from", "pagar desde": "owed_from", "owed since": "owed_from",
	"inicio": "cost_start", "inicio do acordo": "cost_start", "inicio da comissao": "cost_start", "start": "cost_start",
	"fim": "cost_end", "fim do acordo": "cost_end", "fim da comissao": "cost_end", "end": "cost_end",
	"so cupom": "coupon_only", "so com cupom": "coupon_only", "somente cupom": "coupon_only",
	"so na campanha": "campaign_only", "id da campanha": "campaign_id",
	"e mail": "email", "mail": "email",
	"telefone": "phone", "celular": "phone", "whatsapp": "phone", "fone": "phone",
	"documento": "document", "cpf": "document", "cnpj": "document", "cpf cnpj": "document", "cpf ou cnpj": "document",
	"tipo de chave pix": "pix_type", "tipo da chave pix": "pix_type", "tipo da chave": "pix_type", "tipo pix": "pix_type",
	"pix": "pix_key", "chave pix": "pix_key", "pix key": "pix_key",
	"instagram": "handles", "rede social": "handles", "redes sociais": "handles", "perfil": "handles", "arroba": "handles",
	"observacoes": "notes", "observacao": "notes", "obs": "notes", "notas": "notes",
}

// plain is a header without case, accents and signs but %, for a look in headers.
func plain(header string) string {
	words := strings.FieldsFunc(fold.Name(header), func(r rune) bool { return strings.ContainsRune(" _-./:()", r) })
	return strings.Join(words, " ")
}

// Table is a file that was cut into cells.
type Table struct {
	Headers []string
	Columns []string // what each column is read as, one of Fields; empty: it is not read
	Sheet   string   // name of the workbook's sheet that was read; empty: the file is CSV
	Sheets  int      // how many visible ones the workbook has
	text    string
	rows    []row
}

// Text is the file as CSV in UTF-8, without a byte order mark.
func (t *Table) Text() string { return t.text }

type row struct {
	number int // of the line as a spreadsheet counts it: a cell with line breaks is one line
	cells  []string
}

// refused is a *lang.TypedError, the texts' kind of error.
func refused(key string, args ...any) error {
	return &lang.TypedError{Key: key, Args: args}
}

// Parse cuts a file into cells. Columns are what their headers say. A workbook's numbers are written as in the language of the
// page. Errors are *lang.TypedError.
func Parse(raw []byte, in *lang.Printer) (*Table, error) {
	switch {
	case len(raw) > MaxBytes:
		return nil, refused("import.too_big", int64(MaxBytes>>20))
	case bytes.HasPrefix(raw, []byte("PK\x03\x04")):
		text, book, err := workbookText(raw, in)
		if err != nil {
			return nil, err
		}
		t, err := parseText(text)
		if err != nil {
			return nil, err
		}
		t.Sheet, t.Sheets = book.sheet, book.sheets
		return t, nil
	case bytes.HasPrefix(raw, []byte("\xd0\xcf\x11\xe0")): // a compound file: .xls, and .xlsx under a password
		return nil, refused("import.old_workbook")
	}
	text := string(bytes.TrimPrefix(raw, []byte("\ufeff")))
	if !utf8.ValidString(text) {
		var err error
		if text, err = charmap.Windows1252.NewDecoder().String(text); err != nil {
			return nil, refused("import.no_text")
		}
	}
	switch {
	case len(text) > MaxBytes: // in UTF-8 it is longer
		return nil, refused("import.too_big", int64(MaxBytes>>20))
	case strings.HasPrefix(strings.TrimSpace(text), "<"): // HTML or XML, which some programs name .xls
		return nil, refused("import.web_page")
	}
	return parseText(text)
}

// parseText cuts CSV.
func parseText(text string) (*Table, error) {
	if strings.ContainsRune(text, 0) {
		return nil, refused("import.no_text")
	}
	reader := csv.NewReader(strings.NewReader(text))
	reader.Comma, reader.FieldsPerRecord = separator(text), -1
	names, err := reader.Read()
	switch {
	case err != nil:
		return nil, refused("import.no_header")
	case len(names) > maxColumns:
		return nil, refused("import.too_wide", int64(maxColumns))
	}
	t := &Table{text: text, Headers: names, Columns: make([]string, len(names))}
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
		if field := fieldOf(names[i]); !slices.Contains(t.Columns[:i], field) {
			t.Columns[i] = field
		}
	}
	return t, t.readRows(reader)
}

func (t *Table) readRows(reader *csv.Reader) error {
	breaks := strings.Count(strings.Join(t.Headers, ""), "\n") // within the cells before
	for {
		cells, err := reader.Read()
		var broken *csv.ParseError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &broken):
			return refused("import.broken_line", int64(broken.Line))
		case err != nil:
			return refused("import.no_text")
		case strings.Join(cells, "") == "": // as spreadsheets leave them below the last one
			continue
		case len(t.rows) == MaxLines:
			return refused("import.too_many_lines", int64(MaxLines))
		}
		at, _ := reader.FieldPos(0)
		at, breaks = at-breaks, breaks+strings.Count(strings.Join(cells, ""), "\n")
		if len(cells) > len(t.Headers) && strings.TrimSpace(strings.Join(cells[len(t.Headers):], "")) != "" {
			return refused("import.more_cells", int64(at), int64(len(t.Headers)))
		}
		t.rows = append(t.rows, row{at, cells})
	}
}

// separator is what cuts the first line most often, without what stands in quotes.
func separator(text string) rune {
	inQuotes := false
	head, _, _ := strings.Cut(strings.Map(func(r rune) rune {
		if inQuotes = inQuotes != (r == '"'); inQuotes {
			return -1
		}
		return r
	}, strings.TrimLeft(text, "\r\n")), "\n")
	best := ','
	for _, r := range ";\t" {
		if strings.Count(head, string(r)) > strings.Count(head, string(best)) {
			best = r
		}
	}
	return best
}

func fieldOf(header string) string {
	name := plain(header)
	if field := strings.ReplaceAll(name, " ", "_"); slices.Contains(Fields, field) {
		return field
	}
	return headers[name]
}

// Choose says what a column is read as, one of Fields, or that it is not read. Errors are *lang.TypedError.
func (t *Table) Choose(column int, field string) error {
	if column < 0 || column >= len(t.Columns) || field != "" && !slices.Contains(Fields, field) {
		return refused("import.no_column")
	}
	t.Columns[column] = field
	return nil
}

// Check returns an error where no column is the name, or two are one field: a *lang.TypedError.
func (t *Table) Check() error {
	for i, field := range t.Columns {
		if field != "" && slices.Contains(t.Columns[:i], field) {
			return refused("import.twice", t.Headers[i])
		}
	}
	if !slices.Contains(t.Columns, "name") {
		return refused("import.no_name")
	}
	return nil
}

// Examples returns the first cells of a column that have something, n at most.
func (t *Table) Examples(column, n int) (list []string) {
	for _, r := range t.rows {
		if len(list) == n {
			break
		}
		if column < len(r.cells) && strings.TrimSpace(r.cells[column]) != "" {
			list = append(list, strings.TrimSpace(r.cells[column]))
		}
	}
	return list
}
