package scrub

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// The signs as a URL may carry them: plain, percent-encoded, or encoded twice
// (a URL inside a URL). Signs that need no escape have none after fold.
const (
	at    = `(?:@|%(?:25)*40)`
	plus  = `(?:\+|%(?:25)*2[bB])`
	slash = `(?:/|%(?:25)*2[fF])`
	colon = `(?::|%(?:25)*3[aA])`
	space = `(?: |%(?:25)*20|\+)`
	local = `(?:[\pL\pN._+\-!#$*'^{|}~]|%(?:25)*[0-9A-Fa-f]{2})+`
	// gap is what people put between the groups of a number, at most three.
	gap = `(?:[ .()\-+]|%(?:25)*(?:20|28|29|2[dD])){0,3}`
)

var (
	// emailPattern stops a local part at what separates values in a URL. The
	// second group is the domain's last label: letters, as every TLD is.
	emailPattern = pattern(local, at, `([\pL\pN\-]+(?:\.[\pL\pN\-]+)*\.[\pL][\pL\pN\-]+)`)
	atPattern    = regexp.MustCompile(at)
	// cutPattern is an address that a text ends in, whole or not.
	cutPattern = pattern(local, at, `[^\s&?=/#;,@]*$`)

	// phonePattern takes what only a phone number looks like: an international
	// prefix, Brazil's groups with an area code or a hyphen, or North America's with
	// an area code in brackets. A bare row of
	// digits is more often the id of a product, order or campaign: it is a phone
	// only under a name that says so. Its group is what stays.
	phonePattern = pattern(`(?:`, plus, `|((?i:\b(?:tel|sms|smsto|callto)`, colon, `|wa\.me`, slash, `)))`, plus,
		`?[0-9](?:`, gap, `[0-9]){7,14}`,
		`|(?:\(|%28)0?[1-9][0-9](?:\)|%29)`, gap, `9?`, gap, `[2-9][0-9]{3}`, gap, `[0-9]{4}\b`,
		`|(?:\(|%28)[2-9][0-9]{2}(?:\)|%29)`, gap, `[2-9][0-9]{2}`, gap, `[0-9]{4}\b`,
		`|\b[1-9][0-9]`, space, `(?:9?[2-9][0-9]{3}-|9[0-9]{4}`, space, `)[0-9]{4}\b`)

	// parameterPattern is a query parameter up to its value; the group is its name.
	parameterPattern = regexp.MustCompile(`(?i)(?:^|[?&;#]|%(?:25)*(?:26|3F|23))((?:[a-z0-9_.\-\[\]]|%(?:25)*5[BD])+)(?:=|%(?:25)*3D)`)
	// bracketPattern is a bracket in such a name: "customer%5Bid%5D".
	bracketPattern = regexp.MustCompile(`(?i)%(?:25)*5[BD]`)
	// separatorPattern ends a query parameter's value.
	separatorPattern = regexp.MustCompile(`[&#;]|%(?:25)*(?:26|23|3[bB])`)

	// labelledPattern is a bare number in prose after a word that says what it is.
	labelledPattern = pattern(`(?i)\b((?:(?:tele)?(?:phone|fone)s?|celular|whats ?app|tel|cel|mobile|contato|contact)\.?(?: ?: ?| ))[0-9](?:`,
		gap, `[0-9]){9,14}`)

	// rowPattern is a row of ten to fifteen digits, grouped or not: as long as a
	// phone with its area code (E.164 allows fifteen).
	rowPattern = pattern(plus, `?[0-9](?:[ )\-]{0,2}[0-9]){9,14}`)

	// retina is the "@2x." of an image's name, not an address.
	retina = regexp.MustCompile(`^[1-9]x\.(?i:png|jpe?g|webp|gif|svg|avif)$`)

	// datePattern is a day at the beginning of what looks like a number: year
	// first with separators or as eight digits, or day first with separators.
	datePattern = pattern(`^(?:19|20)[0-9]{2}([-. /])(?:0[1-9]|1[0-2])[-. /](?:0[1-9]|[12][0-9]|3[01])(?:[^0-9]|$)`,
		`|^(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])$`,
		`|^(?:0[1-9]|[12][0-9]|3[01])[-. /](?:0[1-9]|1[0-2])[-. /](?:19|20)[0-9]{2}(?:[^0-9]|$)`)
	// yearsPattern ends in two years ("2025-2026"), as a season's name does.
	yearsPattern = regexp.MustCompile(`(?:19|20)[0-9]{2}-(?:19|20)[0-9]{2}$`)
)

// pattern compiles a regular expression of several parts.
func pattern(parts ...string) *regexp.Regexp { return regexp.MustCompile(strings.Join(parts, "")) }

// The finders find what these expressions match, each time the first that begins
// where the last has ended.
var finders = []struct {
	name    string
	of      *regexp.Regexp
	find    func(text string, i int) span
	grouped bool // its first group stays
}{
	{"email", emailPattern, findEmail, false},
	{"cut", cutPattern, findCut, false},
	{"phone", phonePattern, findPhone, true},
	{"row", rowPattern, findRow, false},
	{"labelled", labelledPattern, findLabelled, true},
	{"parameter", parameterPattern, func(text string, i int) span {
		p := findParameter(text, i)
		return span{p.begin, p.end, p.value}
	}, false},
}

// agree holds every finder to its expression.
func agree(t *testing.T, text string) {
	t.Helper()
	if strings.ContainsAny(text, "ſ\u212a") { // (?i) of regexp takes them for s and k
		return
	}
	for _, f := range finders {
		var want, got []string
		for _, m := range f.of.FindAllStringSubmatchIndex(text, -1) {
			value := m[0]
			if f.grouped && m[3] >= 0 {
				value = m[3]
			}
			if f.name == "parameter" {
				m[0], value = m[2], m[3]
			}
			want = append(want, fmt.Sprint(m[0], value, m[1]))
		}
		for s := f.find(text, 0); s.end > 0; s = f.find(text, s.end) {
			got = append(got, fmt.Sprint(s.begin, s.value, s.end))
		}
		if strings.Join(got, ";") != strings.Join(want, ";") {
			t.Fatalf("%s in %q: found %v, the expression matches %v", f.name, text, got, want)
		}
	}
	if got, want := isRetina(text), retina.MatchString(text); got != want {
		t.Fatalf("isRetina(%q): %v", text, got)
	}
	plain := strings.TrimPrefix(text, "+")
	plain = strings.TrimPrefix(strings.TrimPrefix(plain, "%2B"), "%2b")
	if got, want := isDate(text), datePattern.MatchString(plain); got != want {
		t.Fatalf("isDate(%q): %v", text, got)
	}
	if got, want := endsInYears(text), yearsPattern.MatchString(text); got != want {
		t.Fatalf("endsInYears(%q): %v", text, got)
	}
	if got, want := withoutBrackets(text), bracketPattern.ReplaceAllString(text, "_"); got != want {
		t.Fatalf("withoutBrackets(%q): %q, want %q", text, got, want)
	}
	window := text[:min(len(text), maxParameter)]
	want := len(window)
	if m := separatorPattern.FindStringIndex(window); m != nil {
		want = m[0]
	}
	if got := valueEnd(text); got != want {
		t.Fatalf("valueEnd(%q): %d, want %d", text, got, want)
	}
	if signs := atPattern.FindAllStringIndex(text, -1); signs != nil {
		if got, want := lastAt(text), signs[len(signs)-1][0]; got != want {
			t.Fatalf("lastAt(%q): %d, want %d", text, got, want)
		}
	}
}

// pieces are what texts are made of that come near to what is found.
var pieces = [][]string{
	{"1", "2", "9", "0", "+", "%2B", "%252b", "%25", "%", " ", "-", ".", "(", ")", "%28", "%2528", "%29", "%20", "%2D", "x", "é", "25"},
	{"11", "9", "2345", "98765", "4321", "5551234", " ", "+", "-", "(", ")", "%28", "%29", "0", "_", "%20", "415", ".", "a"},
	{"tel", "sms", "smsto", "callto", "wa.me", ":", "%3A", "/", "%2F", "+", "12345678", "123", "Tel", "WA.ME", " ", "x"},
	{"phone", "telefone", "s", "celular", "whats app", "WhatsApp", "tel", "cel", "mobile", "contato", "contact", ".", ":", " ",
		"12345", "67890", "-", "é"},
	{"a", "@", "%40", "%2540", ".", "-", "com", "b", "1", "é", "%3D", "%C3%A9", "%", "/", " ", "&", "\xff", "~", "@2x.png", "٣"},
	{"a", "_id", "=", "%3D", "&", "?", ";", "#", "%26", "%2526", "%3F", "%23", "[", "%5B", "%255d", "]", "%", "25", "5", "é", "-"},
	{"20", "19", "26", "01", "12", "31", "32", "-", ".", " ", "/", "x", "0", "1", "+", "%2B"},
}

func TestFindersFindWhatTheirExpressionsMatch(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 { // FuzzFinders goes on from here
		of := pieces[random.IntN(len(pieces))]
		var text strings.Builder
		for range 1 + random.IntN(24) {
			text.WriteString(of[random.IntN(len(of))])
		}
		agree(t, text.String())
	}
}

func FuzzFinders(f *testing.F) {
	for _, seed := range []string{"+5511987654321", "https://wa.me/5511987654321?a[id]=1", "%2525252B12345678", "ana%40x.com.br&q=1",
		"(011) 9 8765-4321"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { agree(t, text) })
}

// A parameter in the value of another that is removed goes with it.
func TestAParameterInAnothersValue(t *testing.T) {
	for text, want := range map[string]string{
		"/?user_id=a?user_id=b":             "/?user_id=(id)",
		"/?user_id=a%3Fuser_id=b&user_id=c": "/?user_id=(id)&user_id=(id)",
	} {
		if got := Text(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
