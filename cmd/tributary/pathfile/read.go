package pathfile

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/models"
)

// Bounds of a file. One that has more is refused.
const (
	MaxPaths      = 1_000_000  // lines below the header
	MaxChannels   = 500        // the time of Markov grows with the third power
	MaxTouches    = 1_000      // of one path
	MaxAllTouches = 20_000_000 // of all paths: about 80 MB
	maxLineBytes  = 1 << 20
)

// The columns. path is needed, and one of conversions and value; another one that is missing
// is 0. Other columns are read for nothing.
const (
	columnPath        = "path"
	columnConversions = "total_conversions"
	columnValue       = "total_conversion_value"
	columnNull        = "total_null"
)

var columns = []string{columnPath, columnConversions, columnValue, columnNull}

// Paths are the paths of a file.
type Paths struct {
	Channels []string // in the order of their first appearance
	Direct   []bool   // which channels are direct
	List     []models.Path

	ConversionDigits int // conversions and null are in units of 10^-ConversionDigits
	ValueDigits      int // value is in units of 10^-ValueDigits
}

// Read reads a file. The error of a bad one names the line and the column.
func Read(r io.Reader) (*Paths, error) {
	in, separator, err := open(r)
	if err != nil {
		return nil, err
	}
	records := csv.NewReader(in)
	records.Comma = separator
	records.FieldsPerRecord = -1 // checked here: the error says more
	records.ReuseRecord = true
	p := parser{records: records, in: in, byName: map[string]int32{}}
	if err := p.header(); err != nil {
		return nil, err
	}
	for {
		more, err := p.line()
		if err != nil {
			return nil, err
		}
		if !more {
			return p.finish(), nil
		}
	}
}

// parser reads one file.
type parser struct {
	records *csv.Reader
	in      *limited
	last    int            // the line of the record that was read last, from 1
	fields  int            // of the header
	at      map[string]int // a column's place
	byName  map[string]int32
	touches int

	out     Paths
	numbers [][3]decimal.Decimal // conversions, value and null of each path
}

// next reads a record; io.EOF at the end.
func (p *parser) next() ([]string, error) {
	record, err := p.records.Read()
	p.in.used = 0
	var syntax *csv.ParseError
	switch {
	case errors.Is(err, errLongLine):
		return nil, fmt.Errorf("after line %d: a line has more than %d bytes", p.last, maxLineBytes)
	case errors.As(err, &syntax):
		return nil, fmt.Errorf("line %d, character %d: %w", syntax.Line, syntax.Column, syntax.Err)
	}
	if err == nil {
		p.last, _ = p.records.FieldPos(0)
	}
	return record, err
}

// line reads one path. It returns false at the end of the file.
func (p *parser) line() (bool, error) {
	record, err := p.next()
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if len(record) != p.fields {
		return false, fmt.Errorf("line %d: %d columns, but the first line has %d", p.last, len(record), p.fields)
	}
	if len(p.out.List) == MaxPaths {
		return false, fmt.Errorf("line %d: more than %d paths: add up the numbers of equal paths first", p.last, MaxPaths)
	}
	where := func(column string, err error) error {
		line, _ := p.records.FieldPos(p.at[column])
		return fmt.Errorf("line %d, column %s: %w", line, column, err)
	}
	channels, err := p.path(record[p.at[columnPath]])
	if err != nil {
		return false, where(columnPath, err)
	}
	var numbers [3]decimal.Decimal
	for i, column := range columns[1:] {
		if place, found := p.at[column]; found {
			if numbers[i], err = number(p.plain(record[place])); err != nil {
				return false, where(column, err)
			}
		}
	}
	p.out.List = append(p.out.List, models.Path{Channels: channels})
	p.numbers = append(p.numbers, numbers)
	return true, nil
}

// path reads "a > b > c".
func (p *parser) path(text string) ([]int32, error) {
	switch {
	case strings.TrimSpace(text) == "":
		return nil, errors.New("the path is empty: it must name a channel, or several with > between them")
	case !utf8.ValidString(text):
		return nil, errors.New("the path is not UTF-8: save the file as UTF-8")
	case strings.Count(text, ">") >= MaxTouches:
		return nil, fmt.Errorf("the path has more than %d touches", MaxTouches)
	}
	var channels []int32
	for name := range strings.SplitSeq(text, ">") {
		name = strings.TrimSpace(name)
		switch {
		case name == "":
			return nil, fmt.Errorf("touch %d of the path has no channel", len(channels)+1)
		case strings.ContainsFunc(name, unicode.IsControl):
			return nil, fmt.Errorf("touch %d of the path has a character that cannot be shown", len(channels)+1)
		}
		channel, known := p.byName[name]
		if !known {
			if channel = int32(len(p.byName)); channel == MaxChannels {
				return nil, fmt.Errorf("more than %d channels", MaxChannels)
			}
			name = strings.Clone(name) // not the whole line
			p.byName[name] = channel
			p.out.Channels = append(p.out.Channels, name)
			p.out.Direct = append(p.out.Direct, isDirect(name))
		}
		channels = append(channels, channel)
	}
	if p.touches += len(channels); p.touches > MaxAllTouches {
		return nil, fmt.Errorf("more than %d touches in all paths", MaxAllTouches)
	}
	return channels, nil
}

// isDirect reports whether a channel is a direct one, as Google Analytics writes it.
func isDirect(name string) bool {
	name = strings.ToLower(name)
	return name == "direct" || name == "(direct)"
}

// Bounds of a number: those that programs write for floats, with room.
const (
	maxNumberBytes = 64
	maxDigits      = 60 // after the point
	maxExponent    = 30
)

// plain returns a number with its decimals after a point. Where columns are not
// separated by commas, a comma is the decimal one, and points before it separate
// thousands: 1.234,56.
func (p *parser) plain(text string) string {
	whole, decimals, found := strings.Cut(text, ",")
	if !found || p.records.Comma == ',' || strings.ContainsAny(decimals, ",.") {
		return text
	}
	groups := strings.Split(strings.TrimSpace(whole), ".")
	for i, group := range groups {
		if i > 0 && len(group) != 3 || i == 0 && len(groups) > 1 && len(group) > 3 {
			return text
		}
	}
	return strings.Join(groups, "") + "." + decimals
}

// number reads an exact decimal that is not negative. No text is 0.
func number(text string) (decimal.Decimal, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return decimal.Decimal{}, nil
	}
	if len(text) > maxNumberBytes {
		return decimal.Decimal{}, fmt.Errorf("%q is too long for a number", shortened(text))
	}
	d, err := decimal.NewFromString(text)
	switch {
	case err != nil && strings.Contains(text, ","):
		return d, fmt.Errorf("%q is not a number: write decimals after a point, or separate the columns by semicolons, and thousands without "+
			"a separator", shortened(text))
	case err != nil:
		return d, fmt.Errorf("%q is not a number", shortened(text))
	case d.Sign() < 0:
		return d, fmt.Errorf("%q is negative", text)
	case d.Exponent() < -maxDigits || d.Exponent() > maxExponent:
		return d, fmt.Errorf("%q has too many digits", text)
	}
	return d, nil
}

// shortened returns the beginning of a text, for an error.
func shortened(text string) string {
	if len(text) <= maxNumberBytes {
		return text
	}
	return text[:maxNumberBytes] + "…"
}

// finish turns the numbers into whole ones, of the smallest unit that a column has.
func (p *parser) finish() *Paths {
	digits := func(columns ...int) int {
		most := int32(0)
		for _, row := range p.numbers {
			for _, column := range columns {
				most = max(most, -row[column].Exponent())
			}
		}
		return int(most)
	}
	p.out.ConversionDigits, p.out.ValueDigits = digits(0, 2), digits(1)
	whole := func(d decimal.Decimal, digits int) *big.Int { return d.Shift(int32(digits)).BigInt() }
	for i, row := range p.numbers {
		path := &p.out.List[i]
		path.Conversions = whole(row[0], p.out.ConversionDigits)
		path.Value = whole(row[1], p.out.ValueDigits)
		path.Null = whole(row[2], p.out.ConversionDigits)
	}
	return &p.out
}
