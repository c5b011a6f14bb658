package site

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/lang"
	"github.com/tributary-io/tributary/internal/reports"
)

// byteOrderMark tells Excel that a file is UTF-8.
const byteOrderMark = "\ufeff"

// LocalFile writes a CSV file of ours as a spreadsheet in the language of the page opens it by a double click: in Portuguese with
// semicolons, decimal commas, the words of the page and the store's time. Ids, which nobody reads, come last. In English a file stays
// as it is, which Excel opens in English. file has a header.
func LocalFile(l *lang.Printer, zone *time.Location, file []byte) ([]byte, error) {
	if l.Tag != "pt-BR" {
		return file, nil
	}
	table, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
	if err != nil {
		return nil, err
	}
	order := columnsOf(table[0])
	var out bytes.Buffer
	out.WriteString(byteOrderMark)
	w := csv.NewWriter(&out)
	w.Comma, w.UseCRLF = ';', true
	for i, row := range table {
		line := make([]string, len(order))
		for to, from := range order {
			name := table[0][from]
			if i == 0 {
				line[to] = columnWords(l, name)
			} else {
				line[to] = localCell(l, zone, name, row[from])
			}
		}
		if err := w.Write(line); err != nil {
			return nil, err
		}
	}
	w.Flush()
	return out.Bytes(), w.Error()
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
	case text == "":
		return ""
	case isNumber(name):
		return strings.ReplaceAll(text, ".", ",")
	case slices.Contains(fileWords, name):
		return TextOf(l, "file.word_"+strings.ReplaceAll(text, " ", "_"), text)
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil && slices.Contains(fileInstants, name) {
		return at.In(zone).Format("02/01/2006 15:04")
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil && slices.Contains(fileDays, name) {
		return day.Format("02/01/2006")
	}
	return text
}

// The columns of files that are no texts, beside the metrics of reports.
var (
	fileNumbers = []string{"total", "commission", "expected_commission", "fixed_commission_brl", "expected", "review", "held", "payable",
		"paid",
		"opening", "orders_30_days", "sales_30_days", "commission_30_days", "value_brl", "var_fee", "fixed_fee", "value", "amount"}
	fileInstants = []string{"created_at", "last_used_at", "expires_at", "revoked_at", "paid_at", "at", "last_seen", "invited_until"}
	fileDays     = []string{"day", "period", "start_date", "end_date", "since", "coupon_start", "coupon_end", "cost_start",
		"cost_end", "owed_from"}
	fileWords = []string{"status", "state", "evidence", "frequency", "environment", "role", "outcome", "test", "carried", "pix_type",
		"coupon_only",
		"campaign_only"}
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
