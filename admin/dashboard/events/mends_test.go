package events

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/sdk/core"
)

// codesIn are the codes of a file: what a pattern finds in its first group.
func codesIn(t *testing.T, file, pattern string) (codes []string) {
	t.Helper()
	text, err := os.ReadFile("../../../" + file)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
		codes = append(codes, found[1])
	}
	return codes
}

// Finding S3-14: whatever the pages of events show by a code, they say in the language of the page.
func TestEveryCodeIsTold(t *testing.T) {
	t.Parallel()
	languages, err := site.LoadTexts()
	if err != nil {
		t.Fatal(err)
	}
	rejected := codesIn(t, "internal/facts/event.go", `Err\w+ += errors\.New\("([a-z_]+)"\)`)
	rejected = append(rejected, codesIn(t, "processor/read.go", `code\w+ += "([a-z_]+)"`)...)
	rejected = slices.DeleteFunc(rejected, func(code string) bool { return code == "expired" || code == "erased" }) // in no record
	for _, code := range core.Codes() {
		rejected = append(rejected, string(code))
	}
	ofOrders := slices.DeleteFunc(codesIn(t, "internal/commerce/violation.go", `Code\w+ += "([a-z_]+)"`), func(code string) bool {
		return code == "invalid_url" || code == "not_yours" || code == "no_rate" // of links, keys and agreements
	})
	names := codesIn(t, "sdk/core/event.go", `= "([A-Z]+_[A-Z]+)"`)
	for i, name := range names {
		names[i] = strings.ToLower(name)
	}
	for _, c := range []struct {
		sections string
		codes    []string
		least    int
	}{
		{"rejected_for mend", rejected, 30},
		{"warned", ofOrders, 15},
		{"event_name", names, 5},
	} {
		if len(c.codes) < c.least {
			t.Errorf("%s: only %d codes", c.sections, len(c.codes))
		}
		for _, section := range strings.Fields(c.sections) {
			for _, code := range c.codes {
				for _, l := range languages.All() {
					if !l.Has(section + "." + code) {
						t.Errorf("%s has no text %s.%s", l.Tag, section, code)
					}
				}
			}
		}
	}
}

// Each code of a rejected event says in each language how it is mended, each reason for which
// events are given up what it means, and what is to be copied is right.
func TestEveryRejectionIsMended(t *testing.T) {
	t.Parallel()
	languages, err := site.LoadTexts()
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range core.Codes() {
		for _, l := range languages.All() {
			if !l.Has("mend." + string(code)) {
				t.Errorf("%s has no text mend.%s", l.Tag, code)
			}
		}
	}
	for _, reason := range core.DropReasons() {
		for _, l := range languages.All() {
			if !l.Has("drop." + reason) {
				t.Errorf("%s has no text drop.%s", l.Tag, reason)
			}
		}
	}
	for code, example := range mends {
		for _, l := range languages.All() {
			if !l.Has("mend." + code) {
				t.Errorf("%s has no text mend.%s", l.Tag, code)
			}
		}
		batch, bad := core.ParseBatch(strings.ReplaceAll(example, "c_…", "c_1"), "c_1", core.Options{Now: time.Now().UnixMilli()})
		if bad != nil {
			t.Errorf("%s: %v", code, bad)
			continue
		}
		for _, item := range batch.Items {
			if item.Err != nil {
				t.Errorf("%s: %v", code, item.Err)
			}
		}
	}
}
