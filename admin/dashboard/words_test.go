package dashboard

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/admin/dashboard/site"
)

var wordPattern = regexp.MustCompile(`\p{L}+`)

// TestThePagesUseOneWordForOneThing holds the texts against docs/notes/words.md.
func TestThePagesUseOneWordForOneThing(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/notes/words.md")
	if err != nil {
		t.Fatal(err)
	}
	texts, err := site.LoadTexts()
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "|---|---|---|---|---|\n")
	rows := strings.Split(strings.TrimSpace(table), "\n")
	if len(rows) < 10 {
		t.Fatalf("%d words", len(rows))
	}
	for n, tag := range []string{"en", "pt-BR"} {
		in := texts.Of(tag)
		var all strings.Builder
		used := map[string]string{} // a key that has it, by word
		for _, key := range in.Keys() {
			text := strings.ToLower(in.T(key))
			all.WriteString(text + "\n")
			for _, word := range wordPattern.FindAllString(text, -1) {
				used[word] = key
			}
		}
		for _, row := range rows {
			cells := strings.Split(strings.Trim(row, "| "), " | ")
			if len(cells) != 5 {
				t.Fatalf("%q has %d cells", row, len(cells))
			}
			if !strings.Contains(all.String(), cells[1+n]) {
				t.Errorf("no text in %s says %q", tag, cells[1+n])
			}
			for _, other := range strings.Split(cells[3+n], ", ") {
				if key, has := used[other]; has {
					t.Errorf("%s of %s says %q: it is %q there", key, tag, other, cells[1+n])
				}
			}
		}
	}
}
