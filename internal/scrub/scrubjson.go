package scrub

import (
	"encoding/json"
	"strings"
)

// JSON is Text for each string of a valid JSON text, names included; a
// number or text under a name that says "phone" goes whole, at any depth, and so
// does one under a name that says customer id or cart token. JSON inside a string is scrubbed as JSON. All else stays byte for byte. Text
// that
// is not valid JSON gives "".
func JSON(text string) string { return scrubJSON(text, Text, 0) }

// JSONStrict is JSON with Strict, for numbers too.
func JSONStrict(text string) string { return scrubJSON(text, Strict, 0) }

// maxNesting bounds JSON within JSON within JSON: each level is parsed anew.
const maxNesting = 4

func scrubJSON(text string, scrub func(string) string, nesting int) string {
	if !mayHoldEmail(text) && !mayHoldPhone(text) && !mayHoldCNPJ(text) && !strings.Contains(text, `\u`) &&
		fold(text) == text && !mentionsID(text) {
		return text
	}
	return walkJSON(text, scrub, nesting)
}

// walkJSON is scrubJSON of a text that may hold something to scrub.
func walkJSON(text string, scrub func(string) string, nesting int) string {
	if !json.Valid([]byte(text)) {
		return ""
	}
	w := jsonScrubber{text: text, scrub: scrub, nesting: nesting}
	for i := 0; i < len(text); {
		i = w.token(i)
	}
	if w.copied == 0 {
		return text
	}
	w.out.WriteString(text[w.copied:])
	return w.out.String()
}

// jsonScrubber goes through a valid JSON text, token by token.
type jsonScrubber struct {
	text    string
	scrub   func(string) string
	nesting int

	out    strings.Builder
	copied int    // of text
	depth  int    // of open objects and lists
	scope  int    // the depth around the list or object that has a phone's name; 0: none
	name   string // of the member whose value follows; "" in a list

	idScope int // the depth around the list or object that has an id's name; 0: none
	inOwner int // the depth inside an object that namesOwner knows; 0: none
}

// token handles the token at i and returns where the next begins.
func (w *jsonScrubber) token(i int) int {
	switch w.text[i] {
	case '"':
		end := stringEnd(w.text, i)
		w.str(i, end)
		return end
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		literal := w.text[i:]
		literal = literal[:len(literal)-len(strings.TrimLeft(literal, "0123456789.eE+-"))]
		end := i + len(literal)
		if w.isID(literal) {
			w.replace(i, end, scrubbedID)
		} else if scrubbed := w.scrub(literal); scrubbed == scrubbedNumber {
			w.replace(i, end, scrubbed)
		} else if w.isPhone(literal) || scrubbed != literal {
			w.replace(i, end, scrubbedPhone)
		}
		return end
	case '{', '[':
		if w.scope == 0 && NamesPhone(w.name) {
			w.scope = w.depth
		}
		if w.idScope == 0 && w.namesID() {
			w.idScope = w.depth
		}
		w.depth++
		if w.inOwner == 0 && w.text[i] == '{' && mentionsID(w.name) && namesOwner(w.name) {
			w.inOwner = w.depth
		}
		w.name = ""
	case '}', ']':
		if w.depth == w.inOwner {
			w.inOwner = 0
		}
		w.depth--
		if w.depth == w.scope {
			w.scope = 0
		}
		if w.depth == w.idScope {
			w.idScope = 0
		}
	case ',':
		w.name = ""
	}
	return i + 1
}

// str handles the string literal text[i:end], a name or a value.
func (w *jsonScrubber) str(i, end int) {
	value := unquote(w.text[i:end])
	if followedByColon(w.text[end:]) {
		w.name = value
		if scrubbed := w.scrub(value); scrubbed != value {
			w.replace(i, end, scrubbed)
		}
		return
	}
	scrubbed := ""
	if w.isID(value) {
		scrubbed = scrubbedID
	} else if w.isPhone(value) {
		scrubbed = scrubbedPhone
	} else if trimmed := strings.TrimSpace(value); w.nesting < maxNesting &&
		(strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[")) {
		scrubbed = walkJSON(value, w.scrub, w.nesting+1)
	}
	if scrubbed == "" {
		scrubbed = w.scrub(value)
	}
	if scrubbed != value {
		w.replace(i, end, scrubbed)
	}
}

// namesID tells whether the value that follows has an id's name.
func (w *jsonScrubber) namesID() bool {
	return mentionsID(w.name) && namesID(w.name) || w.inOwner == w.depth && isOwnID(w.name)
}

// isID tells whether a value is an id under such a name: its own, or that of a
// list or object around it.
func (w *jsonScrubber) isID(value string) bool {
	return isIDValue(value) && (w.idScope > 0 || w.namesID())
}

// isPhone tells whether a value is a number under a phone's name: its own, or
// that of a list or object around it, unless its own says otherwise ("id").
func (w *jsonScrubber) isPhone(value string) bool {
	return looksLikePhone(foldFullwidth(value)) && (NamesPhone(w.name) || w.scope > 0 && !endsNoNumber(w.name))
}

// replace puts a string in the place of text[from:to].
func (w *jsonScrubber) replace(from, to int, with string) {
	w.out.WriteString(w.text[w.copied:from])
	w.out.WriteString(quote(with))
	w.copied = to
}

// stringEnd is the index after the closing quote of the string that begins at i
// of a valid JSON text.
func stringEnd(text string, i int) int {
	for i++; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i + 1
}

func followedByColon(rest string) bool {
	return strings.HasPrefix(strings.TrimLeft(rest, " \t\r\n"), ":")
}

func unquote(literal string) string {
	if !strings.Contains(literal, `\`) {
		return literal[1 : len(literal)-1]
	}
	var value string
	if json.Unmarshal([]byte(literal), &value) != nil {
		return ""
	}
	return value
}

func quote(value string) string {
	literal, err := json.Marshal(value)
	if err != nil {
		return `""` // a string always marshals
	}
	return string(literal)
}
