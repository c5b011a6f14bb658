package spreadsheet

import (
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/lang"
)

// workbookText makes CSV of a visible sheet of an .xlsx file, as somebody types its cells in a language: the lines of
// the text are the rows of the sheet. name is that of the sheet; empty: the first. Errors are *lang.TypedError.
func workbookText(raw []byte, name string, in *lang.Printer) (text, read string, err error) {
	b, shared, err := openWorkbook(raw)
	if err != nil {
		return "", "", err
	}
	b.point = in.Point()
	one, err := b.named(name)
	if err != nil {
		return "", "", err
	}
	if err := b.readShared(shared); err != nil {
		return "", "", err
	}
	s := sheet{book: b}
	if err := b.walk(one.part, s.begin, s.end); err != nil {
		return "", "", err
	}
	if s.lines == 0 {
		return "", "", refused("import.no_sheet")
	}
	return s.text.String(), one.name, nil
}

// sheet is what walk has told of a sheet's rows.
type sheet struct {
	book   *workbook
	text   strings.Builder
	at     int // line of the text that was written last
	lines  int // that have something
	row    int // the one that is read, from 1
	column int // of the cell that is read, from 1
	size   int // bytes of the row's texts
	cells  []string
	cell   cell
}

// cell is what a tag c has.
type cell struct {
	kind, style       string
	text              string
	formula, hasValue bool
}

func (s *sheet) begin(tag string, get attributes) (err error) {
	switch tag {
	case "row":
		row := s.row + 1
		if r := get("r"); r != "" {
			row, err = strconv.Atoi(r)
		}
		if err != nil || row <= s.row || row > maxRow {
			return errDamaged
		}
		s.row, s.column, s.size, s.cells = row, 0, 0, s.cells[:0]
	case "c":
		column := s.column + 1
		if ref := get("r"); ref != "" {
			column = columnOf(ref)
		}
		if s.row == 0 || column <= s.column {
			return errDamaged
		}
		s.column, s.cell = column, cell{kind: get("t"), style: get("s")}
	case "f":
		s.cell.formula = true
	case "v", "is":
		s.cell.hasValue = true
	}
	return nil
}

func (s *sheet) end(tag, text string) error {
	switch tag {
	case "v":
		s.cell.text = text
	case "t":
		if s.cell.text += text; len(s.cell.text) > maxToken {
			return errDamaged
		}
	case "c":
		return s.add()
	case "row":
		return s.write()
	}
	return nil
}

// columnOf is the number of a cell's column, from 1: that of B7 is 2. It is 0 for what is none; XFD is Excel's last one.
func columnOf(ref string) (column int) {
	letters := strings.TrimRight(ref, "0123456789")
	for _, r := range letters {
		if r < 'A' || r > 'Z' || len(letters) > 3 {
			return 0
		}
		column = column*26 + int(r-'A') + 1
	}
	return column
}

// add adds the cell that ends to its row. Cells without text are those that have a colour alone.
func (s *sheet) add() error {
	text, err := s.read()
	switch {
	case err != nil || text == "":
		return err
	case s.column > maxColumns:
		return refused("import.too_wide", int64(maxColumns))
	case s.row > 2*MaxLines:
		return refused("import.too_many_lines", int64(MaxLines))
	}
	if s.size += len(text); s.size > MaxBytes {
		return refused("import.too_big", int64(MaxBytes>>20))
	}
	for len(s.cells) < s.column-1 {
		s.cells = append(s.cells, "")
	}
	s.cells = append(s.cells, text)
	return nil
}

// write writes a row that has something, on its own line: every cell in quotes, so that nothing within them separates.
func (s *sheet) write() error {
	if len(s.cells) == 0 {
		return nil
	}
	for s.at++; s.at < s.row; s.at++ {
		s.text.WriteByte('\n')
	}
	for i, text := range s.cells {
		if i > 0 {
			s.text.WriteByte(';')
		}
		s.text.WriteString(`"` + strings.ReplaceAll(text, `"`, `""`) + `"`)
	}
	s.text.WriteByte('\n')
	switch s.lines++; {
	case s.text.Len() > MaxBytes:
		return refused("import.too_big", int64(MaxBytes>>20))
	case s.lines > MaxLines+1:
		return refused("import.too_many_lines", int64(MaxLines))
	}
	return nil
}

// read returns what a cell says.
func (s *sheet) read() (string, error) {
	c, style := s.cell, format{}
	if n, err := strconv.Atoi(c.style); err == nil && n > 0 && n < len(s.book.formats) {
		style = s.book.formats[n]
	}
	switch {
	case c.formula && !c.hasValue:
		return "", refused("import.formula", cellName(s.column, s.row))
	case c.text == "":
		return "", nil
	}
	switch c.kind {
	case "s":
		n, err := strconv.Atoi(c.text)
		if err != nil || n < 0 || n >= len(s.book.strings) {
			return "", errDamaged
		}
		return s.book.strings[n], nil
	case "str", "inlineStr":
		return unescaped(c.text), nil
	case "b":
		return map[string]string{"1": "true", "0": "false"}[c.text], nil
	case "e":
		return "", refused("import.cell_error", cellName(s.column, s.row), c.text)
	case "d":
		return strings.TrimSuffix(c.text, "T00:00:00"), nil
	}
	return s.number(c.text, style), nil
}

// cellName is how a spreadsheet names a cell: the second one of row 7 is B7.
func cellName(column, row int) string {
	name := ""
	for ; column > 0; column = (column - 1) / 26 {
		name = string(rune('A'+(column-1)%26)) + name
	}
	return name + strconv.Itoa(row)
}

// shownDigits are the digits of a number that Excel and LibreOffice show at most. What is stored is a floating-point number in up
// to 17, of which the rest is what 0.1 + 0.2 leaves.
const shownDigits = 15

// number writes a stored number as the format says, exactly but for digits that are never shown.
func (s *sheet) number(stored string, style format) string {
	d, err := decimal.NewFromString(stored)
	if err != nil || len(stored) > 40 || d.Exponent() > 20 || d.Exponent() < -400 {
		return stored
	}
	if !d.IsInteger() {
		d = d.Round(shownDigits - int32(d.NumDigits()) - d.Exponent())
	}
	switch {
	case style.day:
		if text, is := s.dayOf(d); is {
			return text
		}
	case style.percent:
		return s.digits(d.Shift(2)) + "%"
	case style.zeros > 0 && d.IsInteger() && d.Sign() >= 0:
		text := d.String()
		return strings.Repeat("0", max(0, style.zeros-len(text))) + text
	}
	return s.digits(d)
}

// digits writes a number without separators of thousands. Three decimals get a fourth, since 1.234 can be meant as thousands.
func (s *sheet) digits(d decimal.Decimal) string {
	whole, decimals, has := strings.Cut(d.String(), ".")
	switch {
	case !has:
		return whole
	case len(decimals) == 3:
		decimals += "0"
	}
	return whole + s.book.point + decimals
}

// dayOf is the day that a number stands for, with the time if it has one. There is none before 1900 and after 9999.
func (s *sheet) dayOf(d decimal.Decimal) (string, bool) {
	days := d.IntPart()
	start := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	switch {
	case s.book.date1904:
		start = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	case days == 60: // Excel has a 29 February 1900, which was none
		return "", false
	case days < 60:
		days++
	}
	if d.Sign() < 0 || days < 1 || days > 2_958_465 {
		return "", false
	}
	minutes := d.Sub(decimal.NewFromInt(d.IntPart())).Mul(decimal.NewFromInt(24 * 60)).Round(0).IntPart()
	at := start.AddDate(0, 0, int(days)).Add(time.Duration(minutes) * time.Minute)
	if minutes == 0 {
		return at.Format(time.DateOnly), true
	}
	return at.Format("2006-01-02 15:04"), true
}

// format is what the format of a number says of it.
type format struct {
	day, percent bool
	zeros        int // how many digits a number has at least, where it has nothing but digits and signs in quotes; else 0
}

// formatOf reads a format: one of those that every workbook has, by its number, or one of the workbook's own.
func formatOf(id string, codes map[string]string) format {
	n, _ := strconv.Atoi(id)
	switch {
	case n == 9, n == 10:
		return format{percent: true}
	case n >= 14 && n <= 22, n >= 27 && n <= 36, n >= 45 && n <= 47, n >= 50 && n <= 58:
		return format{day: true}
	}
	return codeFormat(codes[id])
}

// codeFormat reads a format such as "R$"\ #,##0.00, dd/mm/yyyy or 000"."000.
func codeFormat(code string) (f format) {
	onlyZeros := true
	for i := 0; i < len(code); i++ {
		switch c := code[i]; c {
		case ';': // what follows is for negative numbers
			i = len(code)
		case '"', '[':
			end := strings.IndexByte(code[i+1:], map[byte]byte{'"': '"', '[': ']'}[c])
			if end < 0 {
				return format{}
			}
			f.day = f.day || c == '[' && strings.Trim(strings.ToLower(code[i+1:i+1+end]), "hms") == "" && end > 0
			onlyZeros = onlyZeros && c == '"'
			i += end + 1
		case '\\':
			i++
		case '_', '*':
			i, onlyZeros = i+1, false
		case '0':
			f.zeros++
		case '%':
			f.percent, onlyZeros = true, false
		default:
			f.day = f.day || strings.IndexByte("dmyhsDMYHS", c) >= 0 && code != "General"
			onlyZeros = false
		}
	}
	if !onlyZeros {
		f.zeros = 0
	}
	return f
}
