package house_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/tributary-io/tributary/cmd/tributary/importer"
	"github.com/tributary-io/tributary/edge"
	"github.com/tributary-io/tributary/sdk/core"
)

// notOurs tells the directories that tools and builds leave behind.
func notOurs(path string) bool {
	name := filepath.Base(path)
	return path != "." && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "bin" || name == "data" || name == "dist")
}

// pages lists the repository's Markdown files.
func pages(t *testing.T) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && notOurs(path) {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".md") {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 5 {
		t.Fatalf("only %v", found)
	}
	return found
}

var (
	fence      = regexp.MustCompile("(?ms)^ {0,3}```.*?^ {0,3}```[ \t]*$")
	inlineCode = regexp.MustCompile("`[^`\n]+`")
	// A link or image, its target without a title; and a reference's definition.
	links   = regexp.MustCompile(`\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)|(?m:^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+))`)
	heading = regexp.MustCompile(`(?m)^ {0,3}#{1,6}\s+(.+?)\s*#*\s*$`)
	anchor  = regexp.MustCompile(`<a id="([^"]+)"></a>`)
)

// linksOf gives the targets that a page links to, code left out.
func linksOf(page string) (targets []string) {
	page = inlineCode.ReplaceAllString(fence.ReplaceAllString(page, ""), "")
	for _, match := range links.FindAllStringSubmatch(page, -1) {
		targets = append(targets, match[1]+match[2])
	}
	return targets
}

// anchors gives the fragments of a page's headings as GitHub makes them: lower
// case, blanks as dashes, punctuation left out. And those that it gives itself.
func anchors(page string) map[string]bool {
	found := map[string]bool{}
	for _, match := range anchor.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		found[match[1]] = true
	}
	for _, match := range heading.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		found[strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, match[1])] = true
	}
	return found
}

func TestEveryRelativeLinkLeadsSomewhere(t *testing.T) {
	atRoot(t)
	checked := 0
	for _, path := range pages(t) {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range linksOf(string(page)) {
			u, err := url.Parse(target)
			if err != nil {
				t.Errorf("%s: %q is no link: %v", path, target, err)
				continue
			}
			if u.IsAbs() || u.Host != "" {
				continue
			}
			checked++
			linked := path
			if u.Path != "" {
				linked = filepath.Join(filepath.Dir(path), filepath.FromSlash(u.Path))
			}
			if strings.HasPrefix(u.Path, "/") || strings.HasPrefix(linked, "..") {
				t.Errorf("%s: %s leads out of the repository", path, target)
				continue
			}
			if _, err := os.Stat(linked); err != nil {
				t.Errorf("%s: %s leads nowhere", path, target)
				continue
			}
			if u.Fragment == "" || !strings.HasSuffix(linked, ".md") {
				continue
			}
			text, err := os.ReadFile(linked)
			if err != nil {
				t.Fatal(err)
			}
			if !anchors(string(text))[u.Fragment] {
				t.Errorf("%s: %s names no heading of %s", path, target, linked)
			}
		}
	}
	if checked < 5 {
		t.Errorf("only %d relative links found", checked)
	}
}

func TestLinksAreFoundWhereverTheyStand(t *testing.T) {
	got := strings.Join(linksOf("[a](x.md) ![b](<y.png> \"t\") `[c](no.md)`\n\n```\n[d](no.md)\n```\n[e]: z.md\n[![f](i.svg)](w.md#h)"), " ")
	if want := "x.md y.png z.md i.svg w.md#h"; got != want {
		t.Errorf("links %q, want %q", got, want)
	}
	if got := anchors("# The `admin` API, by curl\n```\n# no\n```\n"); len(got) != 1 || !got["the-admin-api-by-curl"] {
		t.Errorf("anchors %v", got)
	}
}

// docs/events.md names every code that an answer may have and every click id.
func TestEventsPageTellsEveryCodeAndClickID(t *testing.T) {
	atRoot(t)
	page, err := os.ReadFile(filepath.Join("docs", "events.md"))
	if err != nil {
		t.Fatal(err)
	}
	tells := func(word string) {
		t.Helper()
		if !strings.Contains(string(page), "`"+word+"`") {
			t.Errorf("docs/events.md does not tell of %q", word)
		}
	}
	for _, code := range core.Codes() {
		tells(string(code))
	}
	for _, code := range edge.Codes() {
		tells(string(code))
	}
	for _, name := range core.ClickIDs() {
		tells(name)
	}
	for _, name := range append(core.Names(), importer.CodeTimestampRequired) {
		tells(name)
	}
}

// Each row of the table of names is a canonical name and the spellings that
// become it.
func TestEverySpellingOfTheEventsPageIsUnderstood(t *testing.T) {
	atRoot(t)
	page, err := os.ReadFile(filepath.Join("docs", "events.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n### Names\n")
	section, _, _ = strings.Cut(section, "\n### ")
	understood := 0
	for row := range strings.Lines(section) {
		names := inlineCode.FindAllString(row, -1)
		if !strings.HasPrefix(row, "| `") || len(names) == 0 {
			continue
		}
		canonical := strings.Trim(names[0], "`")
		for _, name := range names {
			name = strings.Trim(name, "`")
			body := fmt.Sprintf(`{"companyId":"c","event":%q,"payload":{"items":[{"item_id":"i","item_quantity":1}]}}`, name)
			batch, violation := core.ParseBatch(body, "", core.Options{})
			switch {
			case violation != nil:
				t.Fatalf("%s: %v", body, violation)
			case batch.Items[0].Err != nil || batch.Items[0].Event.Name != canonical:
				t.Errorf("%q became %q (%v), docs/events.md says %q", name, batch.Items[0].Event.Name, batch.Items[0].Err, canonical)
			}
			understood++
		}
	}
	if understood < 25 {
		t.Errorf("only %d names found in docs/events.md", understood)
	}
}
