package core

import (
	"strings"
	"testing"
)

func TestABatchTellsWhatItsSenderDropped(t *testing.T) {
	t.Parallel()
	f := func(member string, want Dropped, violation string) {
		t.Helper()
		body := `{"companyId":"c","events":[{"event":"PAGE_VIEW"}],"dropped":` + member + `}`
		b, v := ParseBatch(body, "", Options{})
		got := ""
		if v != nil {
			got = v.Error()
		}
		if got != violation || v == nil && b.Dropped != want {
			t.Errorf("%s: %v %q, want %v %q", member, b.Dropped, got, want, violation)
		}
	}
	const whole, object = "invalid_field: dropped must have whole numbers from 0 to 1,000,000",
		"invalid_field: dropped must be an object of reasons and numbers"
	f(`null`, Dropped{}, "")
	f(`{}`, Dropped{}, "")
	f(`{"queue_full":3,"refused":1,"given_up":2,"expired":4,"unreadable":5,"other":6}`, Dropped{3, 1, 2, 4, 5, 6}, "")
	f(`{"queue_full":3,"sun_spots":1,"x":2}`, Dropped{3, 0, 0, 0, 0, 3}, "")
	f(`{"queue_full":600000,"queue_full":600000}`, Dropped{MaxDropped}, "")
	f(`{"queue_full":1000001}`, Dropped{}, whole)
	f(`{"queue_full":99999999999999999999}`, Dropped{}, whole)
	f(`{"queue_full":-1}`, Dropped{}, whole)
	f(`{"queue_full":-0}`, Dropped{}, whole)
	f(`{"queue_full":1.5}`, Dropped{}, whole)
	f(`{"queue_full":1e3}`, Dropped{}, whole)
	f(`{"queue_full":"1"}`, Dropped{}, whole)
	f(`[1]`, Dropped{}, object)
	f(`7`, Dropped{}, object)
	f(`{`+strings.Repeat(`"a":1,`, 19)+`"a":1}`, Dropped{0, 0, 0, 0, 0, 20}, "")
	f(`{`+strings.Repeat(`"a":1,`, 20)+`"a":1}`, Dropped{}, "invalid_field: dropped has more than 20 members")
	for _, d := range []Dropped{{}, {1}, {0, 2}, {1, 2, 3, 4, 5, 6}} {
		f(string(AppendDropped(nil, d)), d, "")
	}
	b, v := ParseBatch(`{"companyId":"c","event":"PAGE_VIEW","dropped":{"queue_full":3}}`, "", Options{})
	if v != nil || b.Dropped != (Dropped{}) {
		t.Errorf("an event is no batch: %v %v", b.Dropped, v)
	}
	if n := (Dropped{1, 2, 3}).Sum(); n != 6 {
		t.Errorf("sum %d", n)
	}
	if v := b.Parse(`{"companyId":"c","event":"PAGE_VIEW"}`, "", Options{}); v != nil || b.Dropped != (Dropped{}) {
		t.Errorf("used again: %v %v", b.Dropped, v)
	}
}
