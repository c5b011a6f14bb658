package assistant

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
)

// Bounds of the JSON of an answer, in bytes.
const (
	mostBytes   = 32 << 10
	mostOfAPage = mostBytes - 2<<10 // without what says that there is more
)

// Rows of an answer.
const (
	usualRows = 25 // without limit
	mostRows  = 100
)

// listing is a list of the admin API, as a tool gives it: a page of rows, with how many more there are.
type listing struct {
	path  string
	field string  // of the answer's data that has the rows; "": the data is the rows
	row   shape   // of an element
	head  []field // what is given beside the rows
	most  int     // rows of one answer of the admin API
}

// shape is the shape of an answer.
func (l listing) shape() shape {
	return object(l.head, one("rows", list(l.row)), one("more", said("absent where these are all rows", object(
		one("rows", said("how many rows come after these", shape{kind: "integer"})),
		one("or_more", said("true: at least so many", shape{kind: "boolean"})),
		one("next_cursor", said("give it as cursor, with the same other arguments, for the next rows", shape{kind: "string"}))))),
		leftOut())
}

// leftOut are the fields that say what an answer has not.
func leftOut() []field {
	return slices.Concat(
		one("left_out", said("lists of this answer that were cut, with how many elements they lack",
			list(object(texts("list"), numbers("elements"))))),
		one("narrow", said("how to ask for less, where something was left out", shape{kind: "string"})))
}

// read reads a page of at most limit rows, fewer where mostBytes has room for fewer.
func (l listing) read(ctx context.Context, c *Client, query url.Values, limit int) (map[string]any, error) {
	for try := 0; ; try++ {
		page, next, err := l.page(ctx, c, query, limit)
		if err != nil {
			return nil, err
		}
		rows, _ := page["rows"].([]any)
		switch length := size(page); {
		case length <= mostOfAPage || len(rows) < 2:
			if next != "" {
				err = l.count(ctx, c, query, page, next)
			}
			return page, err
		case try == 0: // fewer are read, so that next_cursor fits what is given
			limit = max(1, min(len(rows)-1, len(rows)*mostOfAPage*9/10/length))
		default:
			limit = len(rows) / 2
		}
	}
}

// page reads a page, and where the next one begins.
func (l listing) page(ctx context.Context, c *Client, query url.Values, limit int) (page map[string]any, next string, err error) {
	a, rows, head, err := l.ask(ctx, c, query, limit)
	if err != nil {
		return nil, "", err
	}
	page = object(l.head).fieldsIn(head)
	page["rows"], _ = list(l.row).keep(rows)
	if a.Pagination.HasMore {
		next = a.Pagination.NextCursor
	}
	return page, next, nil
}

func (l listing) ask(ctx context.Context, c *Client, query url.Values, limit int) (a answer, rows []any, head map[string]any, err error) {
	query = maps.Clone(query)
	query.Set("limit", strconv.Itoa(limit))
	if a, err = c.get(ctx, l.path, query); err != nil {
		return a, nil, nil, err
	}
	value, err := a.value()
	if err != nil {
		return a, nil, nil, err
	}
	if l.field != "" {
		head, _ = value.(map[string]any)
		value = head[l.field]
	}
	rows, ok := value.([]any)
	if !ok {
		return a, nil, nil, errStrange
	}
	return a, rows, head, nil
}

// count says in a page how many rows come after it.
func (l listing) count(ctx context.Context, c *Client, query url.Values, page map[string]any, next string) error {
	query = maps.Clone(query)
	query.Set("cursor", next)
	a, rows, _, err := l.ask(ctx, c, query, l.most)
	if err != nil {
		return err
	}
	more := map[string]any{"rows": len(rows), "next_cursor": next}
	if a.Pagination.HasMore {
		more["or_more"] = true
	}
	page["more"] = more
	return nil
}

// size is how many bytes the JSON of a value has.
func size(value any) int { return len(encoded(value)) }

// encoded is the JSON of a value that keep made.
func encoded(value any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic("assistant: " + err.Error()) // texts, numbers and containers alone
	}
	return bytes.TrimRight(text.Bytes(), "\n")
}

// cut shortens the lists of an answer until its JSON has at most mostBytes, and says in the answer what it lacks.
// The greatest list gives the half of its elements first.
func cut(page map[string]any) {
	lacks := map[string]int{}
	for size(page) > mostOfAPage {
		at := greatest(page, "", 2)
		if at == nil {
			at = greatest(page, "", 1)
		}
		if at == nil {
			break // texts are bounded, and so are the fields
		}
		keep := len(at.elements) / 2
		lacks[at.name] += len(at.elements) - keep
		at.set(at.elements[:keep])
	}
	if len(lacks) == 0 {
		return
	}
	var left []any
	for _, name := range slices.Sorted(maps.Keys(lacks)) {
		left = append(left, map[string]any{"list": name, "elements": lacks[name]})
	}
	page["left_out"] = left
}

// place is a list inside of an answer.
type place struct {
	name     string // such as payout.costs
	elements []any
	set      func([]any)
	size     int
}

// greatest finds the list of at least some elements whose JSON is the longest; nil: there is none.
func greatest(value any, name string, least int) (found *place) {
	better := func(other *place) {
		if other != nil && (found == nil || other.size > found.size) {
			found = other
		}
	}
	switch value := value.(type) {
	case map[string]any:
		for _, field := range slices.Sorted(maps.Keys(value)) {
			inner := field
			if name != "" {
				inner = name + "." + field
			}
			if elements, ok := value[field].([]any); ok && len(elements) >= least {
				better(&place{inner, elements, func(e []any) { value[field] = e }, size(elements)})
			}
			better(greatest(value[field], inner, least))
		}
	case []any:
		for _, element := range value {
			better(greatest(element, name, least))
		}
	}
	return found
}
