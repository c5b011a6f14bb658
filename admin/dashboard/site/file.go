package site

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/reports"
)

const (
	// mostFileRows bounds a list's file. Of more, people choose fewer by the filters.
	mostFileRows = 20_000
	// RowsPerRead is how many rows are read at once for a file.
	RowsPerRead = 500
	// filesAtOnce is how many lists are made a file at the same time: a file of the most rows
	// takes some ten megabytes.
	filesAtOnce = 4
	// statementsAtOnce is how many statements are sent as a file at the same time: whoever reads
	// slowly holds no memory, but a request and now and then a connection to PostgreSQL.
	statementsAtOnce = 32
	// PersonsFiles is how many files are made for one person at the same time.
	PersonsFiles = 2
)

// CSVEnding ends the path of a list's file, which is else that of its page, with the page's
// filters. Amounts
// have a decimal point and no currency sign, whatever the language; texts that somebody
// else chose are no formulas (reports.CSVText).
const CSVEnding = ".csv"

// ListFile is the rows of a list's file.
type ListFile struct {
	header []string
	lines  [][]string
	err    error // of the first row that could not be added
}

// Add adds a row. Where there is no room for it there is no file, but reports.ErrTooManyRows.
func (f *ListFile) Add(cells ...string) {
	if len(f.lines) == mostFileRows {
		f.err = reports.ErrTooManyRows
		return
	}
	for i, cell := range cells {
		cells[i] = cellOf(cell)
	}
	f.lines = append(f.lines, cells)
}

// AddPages calls add for each page of a list until one has less than RowsPerRead elements: it adds the page's rows, and returns
// how many elements it has.
func (f *ListFile) AddPages(add func() (elements int, err error)) error {
	for {
		n, err := add()
		if err != nil || n < RowsPerRead || f.err != nil {
			return err
		}
	}
}

// cellOf is a cell that is no formula; a negative number stays one.
func cellOf(text string) string {
	if _, err := decimal.NewFromString(text); err == nil {
		return text
	}
	return reports.CSVText(text)
}

// fileReader reads what the address asks for into a file.
type fileReader func(ctx context.Context, r *http.Request, v Request, f *ListFile) error

// File answers with a list as a CSV file.
func (s *Site) File(name string, header []string, read fileReader) func(http.ResponseWriter, *http.Request, Request) {
	return func(w http.ResponseWriter, r *http.Request, v Request) {
		file, err := s.makeFile(r, v, header, read)
		if errors.Is(err, commerce.ErrNotFound) {
			s.ProblemOf(w, r, http.StatusNotFound, "no_influencer")
			return
		}
		if err != nil {
			s.Refuse(w, r, err)
			return
		}
		s.SendFile(w, r, v, name+"-"+s.DayOf(v), file)
	}
}

// makeFile makes a file of a list, once it is its turn.
func (s *Site) makeFile(r *http.Request, v Request, header []string, read fileReader) ([]byte, error) {
	end, err := s.filing.Take(r.Context(), v.Access.PersonID)
	if err != nil {
		return nil, err
	}
	defer end()
	f := ListFile{header: header}
	err = read(r.Context(), r, v, &f)
	err = cmp.Or(f.err, err)
	if err != nil {
		return nil, err
	}
	return reports.WriteCSV(f.header, f.lines), nil
}

// MinorText writes a sum of minor units as a number; an amount of 0 too.
func MinorText(minor decimal.Decimal, currency string) string {
	return commerce.FormatSum(minor, currency)
}

// MomentText writes an instant, in UTC; empty where there is none.
func MomentText(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

// SendFile answers with a CSV file of that name, as LocalFile writes it.
func (s *Site) SendFile(w http.ResponseWriter, r *http.Request, v Request, name string, file []byte) {
	file, err := LocalFile(v.Lang, v.Zone(), file)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8; header=present")
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`.csv"`)
	_, _ = w.Write(file) //nolint:gosec // no browser shows it: it is an attachment, and nosniff
}
