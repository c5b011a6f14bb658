package assistant

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tributary-io/tributary/internal/uuidtext"
)

// argument is an argument of a tool.
type argument struct {
	name  string
	what  string
	words []string // it is one of these
	most  int      // of a number its greatest value, of a text its length in characters
	kind  argumentKind
	need  bool
}

type argumentKind int

const (
	aText argumentKind = iota
	aWord
	aDay
	aUUID
	aNumber
)

// Bounds of texts, in characters.
const (
	longestID     = 255
	longestCursor = 400
)

func (a argument) schema() map[string]any {
	schema := map[string]any{"type": "string", "description": a.what}
	switch a.kind {
	case aText:
		schema["minLength"], schema["maxLength"] = 1, a.most
	case aWord:
		schema["enum"] = a.words
	case aDay:
		schema["format"], schema["pattern"] = "date", `^\d{4}-\d{2}-\d{2}$`
	case aUUID:
		schema["format"] = "uuid"
	case aNumber:
		schema["type"], schema["minimum"], schema["maximum"] = "integer", 1, a.most
	}
	return schema
}

// inputSchema is the JSON Schema of a tool's arguments.
func inputSchema(arguments []argument) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, a := range arguments {
		properties[a.name] = a.schema()
		if a.need {
			required = append(required, a.name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// given are the arguments of a call, as texts.
type given map[string]string

// number is a number that was given, or else another.
func (g given) number(name string, otherwise int) int {
	if n, err := strconv.Atoi(g[name]); err == nil {
		return n
	}
	return otherwise
}

// readArguments reads the arguments of a call. An error says which is wrong, and not what was given.
func readArguments(raw json.RawMessage, arguments []argument) (given, error) {
	var values map[string]any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if len(raw) > 0 && decoder.Decode(&values) != nil {
		return nil, errors.New("the arguments must be a JSON object")
	}
	read, names := given{}, []string{}
	for _, a := range arguments {
		names = append(names, a.name)
		value := values[a.name]
		delete(values, a.name)
		if value == nil {
			if a.need {
				return nil, fmt.Errorf("the argument %s is missing", a.name)
			}
			continue
		}
		text, err := a.read(value)
		if err != nil {
			return nil, fmt.Errorf("the argument %s %w", a.name, err)
		}
		read[a.name] = text
	}
	if len(values) > 0 {
		return nil, fmt.Errorf("there is an argument that this tool does not take; it takes: %s", strings.Join(names, ", "))
	}
	return read, nil
}

func (a argument) read(value any) (string, error) {
	if a.kind == aNumber {
		number, _ := value.(json.Number)
		n, err := strconv.Atoi(string(number))
		if err != nil || n < 1 || n > a.most {
			return "", fmt.Errorf("must be a whole number from 1 to %d", a.most)
		}
		return strconv.Itoa(n), nil
	}
	text, ok := value.(string)
	switch {
	case !ok:
		return "", errors.New("must be a text")
	case a.kind == aWord && !slices.Contains(a.words, text):
		return "", fmt.Errorf("must be one of: %s", strings.Join(a.words, ", "))
	case a.kind == aUUID && !uuidtext.Is(text):
		return "", errors.New("must be a UUID, as another tool gives it")
	case a.kind == aText && (text == "" || utf8.RuneCountInString(text) > a.most):
		return "", fmt.Errorf("must have 1 to %d characters", a.most)
	case a.kind == aDay:
		if _, err := time.Parse(time.DateOnly, text); err != nil {
			return "", errors.New("must be a day, written YYYY-MM-DD")
		}
	}
	return text, nil
}
