package pathfile

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tributary-io/tributary/internal/lenient"
)

// header reads the names of the columns.
func (p *parser) header() error {
	record, err := p.next()
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("the file is empty: its first line must name the columns, %s", strings.Join(columns, ","))
	}
	if err != nil {
		return err
	}
	p.fields, p.at = len(record), map[string]int{}
	var names, quoted []string
	for i, name := range record {
		name = strings.ToLower(strings.TrimSpace(name))
		names, quoted = append(names, name), append(quoted, fmt.Sprintf("%q", shortened(name)))
		if _, twice := p.at[name]; twice && slices.Contains(columns, name) {
			return fmt.Errorf("line %d: the column %s is there twice", p.last, name)
		}
		p.at[name] = i
	}
	only := strings.Join(quoted[:min(len(quoted), 20)], ", ")
	if !p.has(columnPath) {
		return fmt.Errorf("line %d: no column is called %s, only %s", p.last, columnPath, only)
	}
	for i, name := range names {
		if meant := p.meant(name); meant != "" {
			return fmt.Errorf("line %d: the column %s is not known: is it %s? Another column that is to be ignored must have another name",
				p.last, quoted[i], meant)
		}
	}
	if !p.has(columnConversions) && !p.has(columnValue) {
		return fmt.Errorf("line %d: no column is called %s or %s, only %s: without both all results are 0", p.last,
			columnConversions, columnValue, only)
	}
	return nil
}

func (p *parser) has(column string) bool {
	_, found := p.at[column]
	return found
}

// meant returns the column that is missing and whose name is like one that is not known, and
// "" where there is none: what is written with other separators, with one or two other
// letters, or without what comes first in it ("value").
func (p *parser) meant(name string) string {
	if slices.Contains(columns, name) || len(name) > maxNumberBytes {
		return ""
	}
	letters := lenient.Letters(name)
	for _, column := range columns[1:] {
		want := lenient.Letters(column)
		if !p.has(column) && (lenient.Distance(letters, want) <= 2 || len(letters) >= 4 && strings.HasSuffix(want, letters)) {
			return column
		}
	}
	return ""
}
