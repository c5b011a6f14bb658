package events

import (
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/sdk/core"
)

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
