package core_test

import (
	"strings"
	"testing"

	"github.com/tributary-io/tributary/sdk/core"
)

// What stands beside the events: the company and the time of sending.
func TestABatchHasItsCompanyAndTime(t *testing.T) {
	f := func(members, query, company string, sentAt int64, code core.Code) {
		t.Helper()
		for _, events := range []string{`"events":[{"event":"A"}]`, `"event":"A"`, `"event":"A","events":null`} {
			body := "{" + events + members + "}"
			b, v := core.ParseBatch(body, query, options())
			if v != nil {
				if v.Code != code {
					t.Errorf("%s: %v, want %q", body, v, code)
				}
				continue
			}
			if code != "" || b.CompanyID != company || b.SentAt != sentAt || len(b.Items) != 1 || b.Items[0].Err != nil ||
				b.Items[0].Event.Name != "A" {
				t.Errorf("%s: %+v, want the company %q, sentAt %d, code %q", body, b, company, sentAt, code)
			}
		}
	}
	f(``, "q", "q", 0, "")
	f(`,"companyId":null`, "q", "q", 0, "")
	f(`,"companyId":"q"`, "q", "q", 0, "")
	f(`,"companyId":"c"`, "", "c", 0, "")
	f(`,"companyId":"\u0063"`, "", "c", 0, "")
	f(`,"companyId":"c"`, "q", "", 0, "mixed_companies")
	f(`,"companyId":""`, "q", "", 0, "company_id_required")
	f(`,"companyId":["q"]`, "q", "", 0, "company_id_required")
	f(`,"companyId":null`, "", "", 0, "company_id_required")
	f(`,"companyId":"`+strings.Repeat("c", 64)+`"`, "", strings.Repeat("c", 64), 0, "")
	f(`,"companyId":"`+strings.Repeat("c", 65)+`"`, "", "", 0, "company_id_required")
	f(`,"sentAt":null`, "q", "q", 0, "")
	f(`,"sentAt":"2026-05-28T20:26:41Z"`, "q", "q", 1_780_000_001_000, "")
	f(`,"sentAt":"1969-12-31T23:59:59Z"`, "q", "q", 0, "") // by another clock nothing can be corrected
	f(`,"sentAt":"2200-01-01T00:00:00Z"`, "q", "q", 0, "")
	f(`,"sentAt":""`, "q", "", 0, "invalid_timestamp")
	f(`,"sentAt":7`, "q", "", 0, "invalid_timestamp")
}

func TestBatchesThatBreakOffAreNotJSON(t *testing.T) {
	for _, body := range []string{
		`{"events"`, `{"events":`, `{"events":[`, `{"events":[]`, `{"events":[],`, `{"events":[],}`, `{,"events":[]}`, `{"events":[]}}`,
		`{"events":[]"a":1}`, `{events:[]}`, `{"events" []}`,
		`{"\q":1,"events":[]}`, `[`, `[,`, `[{"event":"A"}`, `[{"event":"A"},`, `[{"event":"A"},]`, `[{"event":"A"]`, `[]]`,
		`[1 2]`, "\x00", `}`, `]`,
	} {
		if _, v := core.ParseBatch(body, "loja", options()); v == nil || v.Code != "invalid_json" || v.Field != "" {
			t.Errorf("ParseBatch(%q): %v, want invalid_json", body, v)
		}
	}
}

func TestWhiteSpaceMayStandBetweenTokens(t *testing.T) {
	const s = " \t\r\n"
	f := func(tokens ...string) {
		t.Helper()
		body := s + strings.Join(tokens, s) + s
		b, v := core.ParseBatch(body, "loja", options())
		if v != nil {
			t.Errorf("ParseBatch(%q): %v", body, v)
			return
		}
		for i := range b.Items {
			if item := &b.Items[i]; item.Err != nil || item.Event.Name != "A" || item.Text != strings.TrimSpace(item.Text) {
				t.Errorf("ParseBatch(%q): %+v", body, item)
			}
		}
	}
	f(`{`, `"event"`, `:`, `"A"`, `}`)
	f(`{`, `"events"`, `:`, `[`, `{`, `"event"`, `:`, `"A"`, `}`, `,`, `{`, `"event"`, `:`, `"A"`, `}`, `]`, `,`, `"sentAt"`, `:`, `null`, `}`)
	f(`[`, `{`, `"event"`, `:`, `"A"`, `}`, `,`, `[`, `"r1"`, `,`, `null`, `,`, `null`, `,`, `"A"`, `,`, `null`, `,`, `null`,
		`,`, `{`, `}`, `]`, `]`)
	f(`[`, `"r1"`, `,`, `null`, `,`, `null`, `,`, `"A"`, `,`, `null`, `,`, `null`, `,`, `{`, `}`, `]`)
}
