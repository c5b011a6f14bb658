package reports

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"slices"
	"strconv"
	"strings"

	"github.com/tributary-io/tributary/internal/commerce"
)

// Ranges of a CSV with a comparison: the first column says to which days a row belongs.
const (
	rangeAsked    = "asked"
	rangeCompared = "compared"
)

// CSV returns the rows as RFC 4180 writes them, in UTF-8, with a header. Totals are not
// among them. Of a report with a comparison the rows of both have a first column more:
// range, "asked" or "compared".
func (r *Report) CSV() []byte {
	header := []string{"period"}
	header = append(header, r.Spec.Dimensions...)
	for _, m := range r.Spec.Metrics {
		header = append(header, m.Name)
	}
	if r.Comparison == nil {
		return WriteCSV(header, r.lines(nil))
	}
	lines := append(r.lines([]string{rangeAsked}), r.Comparison.lines([]string{rangeCompared})...)
	return WriteCSV(append([]string{"range"}, header...), lines)
}

// Compared ends the name of a column of the compared days.
const Compared = "_compared"

// ComparedCSV is CSV, where the compared days are columns of their own: each metric again, with Compared at the end of
// its name. The n-th period stands beside the n-th of the compared ones. What only one of the two has leaves the other's cells empty.
func (r *Report) ComparedCSV() []byte {
	if r.Comparison == nil {
		return r.CSV()
	}
	header := append([]string{"period", "period" + Compared}, r.Spec.Dimensions...)
	for _, m := range r.Spec.Metrics {
		header = append(header, m.Name, m.Name+Compared)
	}
	periods, compared := r.Query.Periods(), r.Comparison.Query.Periods()
	place := func(list []string, row Row) string {
		return strings.Join(append([]string{strconv.Itoa(slices.Index(list, row.Period))}, row.Texts...), "\x00")
	}
	before := map[string]*Row{}
	for _, row := range r.Comparison.Rows {
		before[place(compared, row)] = &row
	}
	var lines [][]string
	for _, row := range r.Rows {
		at := place(periods, row)
		lines = append(lines, r.comparedLine(periods, compared, &row, before[at]))
		delete(before, at)
	}
	for _, row := range r.Comparison.Rows {
		if _, alone := before[place(compared, row)]; alone {
			lines = append(lines, r.comparedLine(periods, compared, nil, &row))
		}
	}
	return WriteCSV(header, lines)
}

// comparedLine is the line of a row and of the one with which it is compared; one of them may be nil.
func (r *Report) comparedLine(periods, compared []string, row, other *Row) []string {
	known := cmp.Or(row, other)
	n := slices.Index(periods, known.Period)
	if row == nil {
		n = slices.Index(compared, known.Period)
	}
	of := func(list []string) string {
		if n < 0 || n >= len(list) {
			return ""
		}
		return list[n]
	}
	line := []string{of(periods), of(compared)}
	for _, text := range known.Texts {
		line = append(line, CSVText(text))
	}
	for column := range r.Spec.Metrics {
		for _, side := range []struct {
			report *Report
			row    *Row
		}{{r, row}, {r.Comparison, other}} {
			text := ""
			if side.row != nil {
				text = side.report.number(*side.row, column)
			}
			line = append(line, text)
		}
	}
	return line
}

func (r *Report) lines(first []string) [][]string {
	lines := make([][]string, len(r.Rows))
	for i, row := range r.Rows {
		line := append([]string{}, first...)
		line = append(line, row.Period)
		for _, text := range row.Texts {
			line = append(line, CSVText(text))
		}
		for column := range r.Spec.Metrics {
			line = append(line, r.number(row, column))
		}
		lines[i] = line
	}
	return lines
}

// WriteCSV writes a header and lines as RFC 4180 says. A text that somebody else chose
// must have gone through CSVText.
func WriteCSV(header []string, lines [][]string) []byte {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	w.UseCRLF = true
	_ = w.Write(header) // a buffer takes everything
	_ = w.WriteAll(lines)
	return out.Bytes()
}

// CSVText returns a text as a cell that no spreadsheet takes for a formula: one that
// begins with = + - @, a tab or a line's end gets a ' before it, as OWASP's page on CSV
// injection says. So does what a program that separates at semicolons or tabs would take
// for the beginning of another cell, as Excel does in Portuguese. What turns the direction of text is
// written out.
func CSVText(text string) string {
	text = commerce.WriteDirections(text)
	if !strings.ContainsAny(text, formulas+blanks) {
		return text
	}
	var out strings.Builder
	begins := true
	for i, c := range text {
		if begins && strings.ContainsRune(formulas, c) || i == 0 && strings.ContainsRune(blanks, c) {
			out.WriteByte('\'')
		}
		begins = c == ';' || strings.ContainsRune(blanks, c) || begins && (c == ' ' || c == '"')
		out.WriteRune(c)
	}
	return out.String()
}

const (
	formulas = "=+-@＝＋－＠" // what a formula begins with
	blanks   = "\t\r\n"   // what separates cells or lines, or is left out before a formula
)
