package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/reports"
)

// listing says how a list is written: as a table for people, or as JSON or CSV for
// programs.
type listing struct{ asJSON, asCSV bool }

func (l *listing) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&l.asJSON, "json", false, "write JSON, for programs")
	cmd.Flags().BoolVar(&l.asCSV, "csv", false, "write CSV, for spreadsheets")
	excludes(cmd.Flags(), "json", "csv")
}

// column is a column of a list: its name in JSON and CSV, the one that people see ("" for
// a column that only programs get), and its value: a string, a number, a bool, a
// commerce.Sum, or nil where there is none.
type column[T any] struct {
	name, title string
	value       func(row *T) any
}

// writeList writes rows. Texts come from other people: nothing in them controls a
// terminal, or is a spreadsheet's formula.
func writeList[T any](out io.Writer, how listing, columns []column[T], rows []T) error {
	switch {
	case how.asJSON:
		return writeJSON(out, objects(columns, rows))
	case how.asCSV:
		w := csv.NewWriter(out)
		if err := w.Write(names(columns)); err != nil {
			return err
		}
		for i := range rows {
			line := make([]string, len(columns))
			for n, c := range columns {
				value := c.value(&rows[i])
				line[n] = cellOf(value)
				if _, isText := value.(string); isText {
					line[n] = reports.CSVText(line[n])
				}
			}
			if err := w.Write(line); err != nil {
				return err
			}
		}
		w.Flush()
		return w.Error()
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(cell func(c column[T]) string) {
		var cells []string
		for _, c := range columns {
			if c.title != "" {
				cells = append(cells, cell(c))
			}
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	line(func(c column[T]) string { return c.title })
	for i := range rows {
		line(func(c column[T]) string { return printable(cellOf(c.value(&rows[i]))) })
	}
	return table.Flush()
}

func names[T any](columns []column[T]) []string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = c.name
	}
	return list
}

// objects are rows as JSON objects.
func objects[T any](columns []column[T], rows []T) []map[string]any {
	list := make([]map[string]any, len(rows))
	for i := range rows {
		list[i] = map[string]any{}
		for _, c := range columns {
			list[i][c.name] = c.value(&rows[i])
		}
	}
	return list
}

func writeJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// cellOf is a value as text; "" where there is none.
func cellOf(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case string:
		return value
	case commerce.Sum:
		return value.String()
	}
	return fmt.Sprint(value)
}

// orNone is a text as a value: nil where it is empty.
func orNone(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// needs makes a command say at once which of its flags are missing.
func needs(cmd *cobra.Command, flags ...string) {
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		var wrong problems
		for _, name := range append([]string{"company", "postgres"}, flags...) {
			if cmd.Flags().Lookup(name).Value.String() == "" {
				wrong.add(errors.New("give --" + name + " or $" + environmentName(name)))
			}
		}
		return wrong.err()
	}
}
