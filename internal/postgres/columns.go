package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/shopspring/decimal"
)

// Selected is one column that a statement gives: its expression, and where its
// value goes.
type Selected struct {
	expression string
	into       any
}

// Into makes a column. into is a pointer, or a scanner such as Day.
func Into(expression string, into any) Selected { return Selected{expression, into} }

// Columns is what a statement gives for each row. A function that makes them
// for a row (func(row *T) Columns) has the name and the place of each column
// side by side; see List and Scan.
type Columns []Selected

// List is the expressions, for SELECT or RETURNING.
func List[T any](columns func(row *T) Columns) string {
	var row T
	var expressions []string
	for _, c := range columns(&row) {
		expressions = append(expressions, c.expression)
	}
	return strings.Join(expressions, ", ")
}

// Scan reads rows of a statement that selected List(columns).
func Scan[T any](columns func(row *T) Columns) pgx.RowToFunc[T] {
	return func(from pgx.CollectableRow) (row T, err error) {
		var into []any
		for _, c := range columns(&row) {
			into = append(into, c.into)
		}
		return row, from.Scan(into...)
	}
}

// One reads the only row of a query; none is pgx.ErrNoRows.
func One[T any](ctx context.Context, q Querier, scan pgx.RowToFunc[T], sql string, args ...any) (T, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		var none T
		return none, err
	}
	return pgx.CollectExactlyOneRow(rows, scan)
}

// Maybe makes a pointer of a row that was read, perhaps with an error: nil, and no error, where there was none.
func Maybe[T any](row T, err error) (*T, error) {
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // none is no error, as the comment says
	}
	return &row, err
}

// Day scans a date into text, as YYYY-MM-DD; null and infinity are "".
func Day(text *string) pgtype.DateScanner { return &dayText{text: text} }

// DayBefore scans as Day does, but the day before: the last day of a range,
// whose upper bound is the first day after it.
func DayBefore(text *string) pgtype.DateScanner { return &dayText{text: text, shift: -1} }

type dayText struct {
	text  *string
	shift int // days
}

// ScanDate implements pgtype.DateScanner.
func (d *dayText) ScanDate(v pgtype.Date) error {
	*d.text = ""
	if v.Valid && v.InfinityModifier == pgtype.Finite {
		*d.text = v.Time.AddDate(0, 0, d.shift).Format(time.DateOnly)
	}
	return nil
}

// Number scans a number into text, with the digits that it needs: 50.00 is "50".
func Number(text *string) sql.Scanner { return &numberText{text} }

type numberText struct{ text *string }

// Scan implements sql.Scanner.
func (n *numberText) Scan(value any) error {
	var d decimal.Decimal
	err := d.Scan(value)
	*n.text = d.String()
	return err
}

// JSON is a list as an argument of type jsonb in rows: null where it is empty. Its elements are such as JSON can hold.
func JSON[T any](list []T) *string {
	if len(list) == 0 {
		return nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		panic(err)
	}
	return NullIfEmpty(string(text))
}

// JSONList is a list as JSON, "[]" where it is empty. Its elements are such as JSON can hold.
func JSONList[T any](list []T) string {
	if text := JSON(list); text != nil {
		return *text
	}
	return "[]"
}

// NullIfEmpty is a text as an argument: null where it is empty.
func NullIfEmpty(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// NullIfZero is a time as an argument: null where it is the zero time.
func NullIfZero(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
