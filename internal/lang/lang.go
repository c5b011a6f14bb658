package lang

import (
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

// Tags are the languages there are, the default first: RFC 5646, as in the
// attribute lang of HTML and the name of the catalogue's file.
var Tags = []string{"en", "pt-BR"}

// Languages are all languages, ready to print in.
type Languages struct {
	byTag   map[string]*Printer
	matcher language.Matcher
}

// Load reads the catalogues of a program's pages: a file for each of Tags, "texts/en.txt",
// with the section "number".
func Load(files fs.FS) (*Languages, error) {
	l := &Languages{byTag: map[string]*Printer{}}
	var tags []language.Tag
	for _, name := range Tags {
		text, err := fs.ReadFile(files, "texts/"+name+".txt")
		if err != nil {
			return nil, fmt.Errorf("lang: %w", err)
		}
		texts, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("lang: %s.txt: %w", name, err)
		}
		tag, err := language.Parse(name)
		if err != nil {
			return nil, fmt.Errorf("lang: %w", err)
		}
		tags = append(tags, tag)
		l.byTag[name] = &Printer{Tag: name, tag: tag, texts: texts, thousands: texts["number.thousands"], decimal: texts["number.decimal"]}
	}
	l.matcher = language.NewMatcher(tags)
	return l, nil
}

// Of returns the language of a tag, or nil where there is none of that name.
func (l *Languages) Of(tag string) *Printer { return l.byTag[tag] }

// All returns every language, in the order of Tags.
func (l *Languages) All() (list []*Printer) {
	for _, tag := range Tags {
		list = append(list, l.byTag[tag])
	}
	return list
}

// maxAccept bounds the header Accept-Language that is read, in bytes.
const maxAccept = 500

// Match returns the language that fits a browser's header Accept-Language best;
// the first of Tags where none does.
func (l *Languages) Match(acceptLanguage string) *Printer {
	if len(acceptLanguage) > maxAccept {
		acceptLanguage = ""
	}
	wanted, _, err := language.ParseAcceptLanguage(acceptLanguage)
	if err != nil {
		return l.byTag[Tags[0]]
	}
	_, index, confidence := l.matcher.Match(wanted...)
	if confidence == language.No {
		index = 0
	}
	return l.byTag[Tags[index]]
}

// parse reads a catalogue: "[section]" lines, "key = text" lines, and comments
// that begin with "#". The text of a key is that of "section.key".
func parse(catalogue string) (map[string]string, error) {
	texts, section := map[string]string{}, ""
	for i, line := range strings.Split(catalogue, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[' && line[len(line)-1] == ']':
			section = line[1:len(line)-1] + "."
		default:
			key, text, found := strings.Cut(line, " = ")
			key = section + strings.TrimSpace(key)
			text = strings.TrimSpace(text)
			if _, twice := texts[key]; !found || twice || text == "" || section == "" {
				return nil, fmt.Errorf("line %d: not \"key = text\" in a section, or a key that was there before: %q", i+1, line)
			}
			texts[key] = strings.ReplaceAll(text, "␣", "\u00a0")
		}
	}
	return texts, nil
}

// form is the ending of a key for a number: ".one" or ".other" (CLDR's plural
// rules; for numbers below a million the two languages have no other form). Zero has
// ".other" also in Portuguese, where CLDR has ".one": people write "0 pedidos".
func (p *Printer) form(n int64) string {
	if n < 0 {
		n = -n
	}
	if n != 0 && plural.Cardinal.MatchPlural(p.tag, int(min(n, 999_999_999)), 0, 0, 0, 0) == plural.One {
		return ".one"
	}
	return ".other"
}
