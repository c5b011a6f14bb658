package reports

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tributary-io/tributary/internal/commerce"
)

// timestampFormat is the API's: UTC, whole seconds.
const timestampFormat = "2006-01-02T15:04:05Z"

// number returns what a metric of a row is as JSON and CSV have it; "" for null.
func (r *Report) number(row Row, column int) string {
	value, ok := r.Value(row, column)
	if !ok {
		return ""
	}
	switch r.Spec.Metrics[column].Kind {
	case Money, MoneyRatio:
		text, _ := commerce.Sum{Minor: value.RoundBank(0), Currency: r.Query.Currency}.MarshalJSON() // never fails
		return string(text)
	case Share:
		value = value.Round(ratioDigits)
	case Count, Ratio, Portion:
	}
	return value.String()
}

// object writes a JSON object, field by field.
type object struct {
	bytes.Buffer
}

func (o *object) field(name string, value any) {
	raw, err := json.Marshal(value)
	if err != nil {
		panic("reports: " + err.Error()) // texts and numbers of ours alone
	}
	o.raw(name, string(raw))
}

func (o *object) raw(name, value string) {
	if o.Len() == 0 {
		o.WriteByte('{')
	} else {
		o.WriteByte(',')
	}
	o.WriteString(`"` + name + `":` + value)
}

func (o *object) close() string {
	o.WriteByte('}')
	return o.String()
}

// orNull is a text that may be missing.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func (r *Report) row(row Row) string {
	var o object
	o.field("period", row.Period)
	for i, name := range r.Spec.Dimensions {
		o.field(name, orNull(row.Texts[i]))
	}
	r.metrics(&o, row)
	return o.close()
}

func (r *Report) metrics(o *object, row Row) {
	for i, m := range r.Spec.Metrics {
		number := r.number(row, i)
		if number == "" {
			number = "null"
		}
		o.raw(m.Name, number)
	}
}

func (r *Report) rows() string {
	rows := make([]string, len(r.Rows))
	for i, row := range r.Rows {
		rows[i] = r.row(row)
	}
	return "[" + strings.Join(rows, ",") + "]"
}

func (r *Report) totals() string {
	var o object
	r.metrics(&o, r.Totals)
	return o.close()
}

// MarshalJSON writes the report as the API answers it.
func (r *Report) MarshalJSON() ([]byte, error) { return r.marshal(true), nil }

// Content is the report without the instant at which it was read: two reports with equal
// contents say the same.
func (r *Report) Content() json.RawMessage { return r.marshal(false) }

func (r *Report) marshal(withTime bool) []byte {
	q := r.Query
	var o object
	o.field("start_date", q.Start)
	o.field("end_date", q.End)
	o.field("by", q.By)
	o.field("model", orNull(q.Model))
	o.field("currency", q.Currency)
	o.field("other_currencies", append([]string{}, r.OtherCurrencies...))
	if withTime {
		o.field("as_of", r.AsOf.UTC().Format(timestampFormat))
	}
	if r.NonConverting != nil {
		o.raw("null_journeys", r.NonConverting.json())
	}
	o.raw("rows", r.rows())
	o.raw("totals", r.totals())
	if c := r.Comparison; c != nil {
		var compared object
		compared.field("start_date", c.Query.Start)
		compared.field("end_date", c.Query.End)
		compared.raw("rows", c.rows())
		compared.raw("totals", c.totals())
		o.raw("comparison", compared.close())
	}
	return []byte(o.close())
}

var _ json.Marshaler = (*Report)(nil)
