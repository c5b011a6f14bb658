package site

import (
	"bytes"
	"encoding/csv"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lang"
	"github.com/tributary-io/tributary/internal/reports"
)

// byteOrderMark tells Excel that a file is UTF-8.
const byteOrderMark = "\ufeff"

// LocalFile writes a CSV file of ours as a spreadsheet in the language of the page opens it by a double click: in Portuguese with
// semicolons, decimal commas, the words of the page and the store's time. Ids, which nobody reads, come last. In English a file stays
// as it is, which Excel opens in English. file has a header.
func LocalFile(l *lang.Printer, zone *time.Location, file []byte) ([]byte, error) {
	if l.Tag != portuguese {
		return file, nil
	}
	table, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := NewLocalWriter(&out, l, zone, table[0])
	for _, row := range table[1:] {
		w.Write(row)
	}
	w.Flush()
	return out.Bytes(), w.Error()
}

// portuguese is the tag of the language in which files are not as in English.
const portuguese = "pt-BR"

// LocalWriter writes rows as LocalFile does, one at a time.
type LocalWriter struct {
	*csv.Writer
	l      *lang.Printer
	zone   *time.Location
	header []string
	order  []int // of the columns; nil: the rows stay as they are
}

// NewLocalWriter writes the header.
func NewLocalWriter(to io.Writer, l *lang.Printer, zone *time.Location, header []string) *LocalWriter {
	w := &LocalWriter{Writer: csv.NewWriter(to), l: l, zone: zone, header: header}
	w.UseCRLF = true
	words := header
	if l.Tag == portuguese {
		_, _ = io.WriteString(to, byteOrderMark) // an error comes again when the rows are flushed
		w.Comma, w.order, words = ';', columnsOf(header), nil
		for _, from := range w.order {
			words = append(words, columnWords(l, header[from]))
		}
	}
	_ = w.Writer.Write(words) // an error is kept, for Error
	return w
}

// Write writes a row; an error is kept, for Error.
func (w *LocalWriter) Write(row []string) {
	line := row
	if w.order != nil {
		line = make([]string, len(w.order))
		for to, from := range w.order {
			line[to] = localCell(w.l, w.zone, w.header[from], row[from])
		}
	}
	_ = w.Writer.Write(line)
}

// columnWords is the header of a column; of the days that others are compared with it says so.
func columnWords(l *lang.Printer, name string) string {
	name, compared := strings.CutSuffix(name, reports.Compared)
	words := TextOf(l, "file."+name, name)
	if compared {
		return l.T("file.compared", words)
	}
	return words
}

// columnsOf returns the order of the columns: ids last.
func columnsOf(header []string) (order []int) {
	var ids []int
	for i, name := range header {
		if name == "id" || strings.HasSuffix(name, "_id") {
			ids = append(ids, i)
		} else {
			order = append(order, i)
		}
	}
	return append(order, ids...)
}

// localCell writes a cell of a column.
func localCell(l *lang.Printer, zone *time.Location, name, text string) string {
	name = strings.TrimSuffix(name, reports.Compared)
	switch {
	case text == "", text == "{}":
		return ""
	case isNumber(name):
		return strings.ReplaceAll(text, ".", ",")
	case slices.Contains(fileWords, name):
		word := strings.ReplaceAll(text, " ", "_")
		return TextOf(l, "file.word_"+word, TextOf(l, "signs.kind_"+word, text))
	case name == "action":
		return TextOf(l, "audit.action."+text, text)
	case slices.Contains(fileDigits, name):
		return spaced(commerce.ShownDocument(text))
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil && slices.Contains(fileInstants, name) {
		if name == "paid_at" { // a day
			return at.In(zone).Format("02/01/2006")
		}
		return at.In(zone).Format("02/01/2006 15:04")
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil && slices.Contains(fileDays, name) {
		return day.Format("02/01/2006")
	}
	return text
}

// spaced is a telephone with its country apart, which no spreadsheet takes for a number; another text stays.
func spaced(text string) string {
	if len(text) < 8 || text[0] != '+' || strings.Trim(text[1:], "0123456789") != "" {
		return text
	}
	if rest, found := strings.CutPrefix(text, "+55"); found && len(rest) >= 10 {
		return "+55 " + rest[:2] + " " + rest[2:len(rest)-4] + "-" + rest[len(rest)-4:]
	}
	return text[:3] + " " + text[3:]
}

// The columns of files that are no texts, beside the metrics of reports.
var (
	fileNumbers = []string{"total", "commission", "expected_commission", "fixed_commission_brl", "expected", "review", "held", "payable",
		"paid",
		"opening", "orders_30_days", "sales_30_days", "commission_30_days", "value_brl", "var_fee", "fixed_fee", "value", "amount",
		"order_value", "base", "rate", "withheld", "net", "turnover",
		"by_coupon", "by_link"}
	fileInstants = []string{"created_at", "last_used_at", "expires_at", "revoked_at", "paid_at", "at", "last_seen", "invited_until"}
	fileDays     = []string{"day", "period", "start_date", "end_date", "since", "coupon_start", "coupon_end", "cost_start",
		"cost_end", "owed_from", "issued_on"}
	fileWords = []string{"status", "state", "evidence", "frequency", "environment", "role", "outcome", "test", "carried", "pix_type",
		"coupon_only", "campaign_only", "kind", "reason"}
	fileDigits = []string{"document", "store_document", "pix_key", "phone"} // texts that a spreadsheet would read as numbers
)

// isNumber reports whether a column has numbers.
func isNumber(name string) bool {
	if slices.Contains(fileNumbers, name) {
		return true
	}
	return slices.ContainsFunc(reports.Specs(), func(spec *reports.Spec) bool {
		return slices.ContainsFunc(spec.Metrics, func(m reports.Metric) bool { return m.Name == name })
	})
}
