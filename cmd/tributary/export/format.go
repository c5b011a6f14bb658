package export

import (
	"encoding/csv"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"github.com/tributary-io/tributary/internal/reports"
)

const (
	// rowsPerGroup is how many rows a row group of a Parquet file has: as many as DuckDB's own, which reads groups in parallel. It
	// bounds the memory.
	rowsPerGroup = 122_880
	// rowsTogether is how many rows are given to the writer at once.
	rowsTogether = 512
)

// writeRows writes rows of a type in a format, and returns how many. each calls add for each of them.
func writeRows[T any](w io.Writer, format string, each func(add func(*T) error) error) (rows int64, err error) {
	var add func(*T) error
	var end func() error
	if format == "csv" {
		add, end = csvRows[T](w)
	} else {
		add, end = parquetRows[T](w)
	}
	texts := textsOf[T]()
	err = each(func(row *T) error {
		rows++
		value := reflect.ValueOf(row).Elem()
		for _, i := range texts {
			if text := value.Field(i); !utf8.ValidString(text.String()) {
				text.SetString(strings.ToValidUTF8(text.String(), "\ufffd"))
			}
		}
		return add(row)
	})
	if err == nil {
		err = end()
	}
	return rows, err
}

// textsOf are the fields that are texts. All of a file are UTF-8: engines refuse a whole query for one that is not.
func textsOf[T any]() (fields []int) {
	columns := reflect.TypeFor[T]()
	for i := range columns.NumField() {
		if columns.Field(i).Type.Kind() == reflect.String {
			fields = append(fields, i)
		}
	}
	return fields
}

func parquetRows[T any](w io.Writer) (add func(*T) error, end func() error) {
	file := parquet.NewGenericWriter[T](w, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(rowsPerGroup),
		parquet.CreatedBy("tributary", strconv.Itoa(layout), ""))
	rows := make([]T, 0, rowsTogether)
	flush := func() error {
		_, err := file.Write(rows)
		rows = rows[:0]
		return err
	}
	add = func(row *T) error {
		if rows = append(rows, *row); len(rows) < rowsTogether {
			return nil
		}
		return flush()
	}
	end = func() error {
		if err := flush(); err != nil {
			return errors.Join(err, file.Close())
		}
		return file.Close()
	}
	return add, end
}

// csvRows writes a line of names, and a line for each row: times in RFC 3339 and UTC, nothing where there is none. Texts come from
// other people: none of them is a spreadsheet's formula.
func csvRows[T any](w io.Writer) (add func(*T) error, end func() error) {
	file := csv.NewWriter(w)
	columns := reflect.TypeFor[T]()
	line, dates := make([]string, columns.NumField()), make([]bool, columns.NumField())
	for i := range line {
		name, options, _ := strings.Cut(columns.Field(i).Tag.Get("parquet"), ",")
		line[i], dates[i] = name, strings.Contains(options, "date")
	}
	err := file.Write(line)
	add = func(row *T) error {
		value := reflect.ValueOf(row).Elem()
		for i := range line {
			line[i] = cell(value.Field(i), dates[i])
		}
		return errors.Join(err, file.Write(line))
	}
	end = func() error {
		file.Flush()
		return errors.Join(err, file.Error())
	}
	return add, end
}

// cell is a value of a row as CSV has it.
func cell(v reflect.Value, date bool) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String:
		return reports.CSVText(v.String())
	case reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case reflect.Int32, reflect.Int64:
		if date {
			return time.Unix(v.Int()*secondsOfDay, 0).UTC().Format(time.DateOnly)
		}
		return strconv.FormatInt(v.Int(), 10)
	}
	at, _ := v.Interface().(time.Time) // rows have nothing else
	return at.UTC().Format(time.RFC3339Nano)
}

const secondsOfDay = 24 * 60 * 60

// dayOf is a day as files have it: the days since 1970.
func dayOf(day time.Time) int32 { return int32(day.Unix() / secondsOfDay) }

// dayOrNone is dayOf of a day that there may not be.
func dayOrNone(day *time.Time) *int32 {
	if day == nil {
		return nil
	}
	n := dayOf(*day)
	return &n
}
