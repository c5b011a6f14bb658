// Package spreadsheet reads a list of influencers as people save it from a spreadsheet: CSV in UTF-8,
// UTF-16 or Windows-1252, cut by commas, semicolons or tabs, or an Excel workbook, with headers in English or Portuguese.
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
	"golang.org/x/text/encoding/unicode"

	"github.com/tributary-io/tributary/internal/lang"
)

// Bounds of a file.
const (
	MaxLines   = 5_000
	MaxBytes   = 2 << 20
	maxColumns = 60
)

// Table is a file that was cut into cells.
type Table struct {
	Headers []string
	Columns []string // what each column is read as, one of Fields; empty: it is not read
	Sheet   string   // name of the workbook's sheet that was read; empty: the file is CSV
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

// isWorkbook says that a file is packed as an .xlsx file is.
func isWorkbook(raw []byte) bool { return bytes.HasPrefix(raw, []byte("PK\x03\x04")) }

// Sheets are the names of a workbook's visible sheets, 255 of 100 letters at most, in their order: none where the file is no
// workbook that can be read.
func Sheets(raw []byte) (names []string) {
	if len(raw) > MaxBytes || !isWorkbook(raw) {
		return nil
	}
	book, _, err := openWorkbook(raw)
	if err != nil {
		return nil
	}
	for _, one := range book.sheets {
		names = append(names, one.name)
	}
	return names
}

// Parse cuts a file into cells. Columns are what their headers say. sheet is the name of one of the workbook's Sheets, empty: the
// first; a file that is no workbook has none. A workbook's numbers are written as in the language of the page. Errors are
// *lang.TypedError.
func Parse(raw []byte, sheet string, in *lang.Printer) (*Table, error) {
	switch {
	case len(raw) > MaxBytes:
		return nil, refused("import.too_big", int64(MaxBytes>>20))
	case isWorkbook(raw):
		text, read, err := workbookText(raw, sheet, in)
		if err != nil {
			return nil, err
		}
		t, err := parseText(text)
		if err != nil {
			return nil, err
		}
		t.Sheet = read
		return t, nil
	case sheet != "":
		return nil, refused("import.unknown_sheet", shortened(sheet))
	case bytes.HasPrefix(raw, []byte("\xd0\xcf\x11\xe0")): // a compound file: .xls, and .xlsx under a password
		return nil, refused("import.old_workbook")
	}
	text, err := decoded(raw)
	if err != nil {
		return nil, refused("import.no_text")
	}
	switch {
	case len(text) > MaxBytes: // in UTF-8 it is longer
		return nil, refused("import.too_big", int64(MaxBytes>>20))
	case strings.HasPrefix(strings.TrimSpace(text), "<"): // HTML or XML, which some programs name .xls
		return nil, refused("import.web_page")
	}
	return parseText(text)
}

// decoded is a text without its byte order mark: UTF-16 with one, as Excel's “Unicode text” is, else UTF-8, else Windows-1252.
func decoded(raw []byte) (string, error) {
	if bytes.HasPrefix(raw, []byte("\xff\xfe")) || bytes.HasPrefix(raw, []byte("\xfe\xff")) {
		text, err := unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder().Bytes(raw)
		return string(text), err
	}
	text := string(bytes.TrimPrefix(raw, []byte("\ufeff")))
	if utf8.ValidString(text) {
		return text, nil
	}
	return charmap.Windows1252.NewDecoder().String(text)
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
