package core_test

import (
	"testing"

	"github.com/tributary-io/tributary/sdk/core"
)

func TestAnAnswerHoldsEachEventOrWhyItWasRefused(t *testing.T) {
	f := func(body, company, want string) {
		t.Helper()
		if got := string(core.AppendCanonical([]byte("> "), body, company, options())); got != "> "+want {
			t.Errorf("AppendCanonical(%s):\n got %s\nwant > %s", body, got, want)
		}
	}
	const event = `{\"eventId\":\"` + id2 + `\",\"event\":\"A\",\"timestamp\":\"2026-05-28T20:26:40.123Z\"}`
	const taken = `{"eventId":"` + id2 + `","event":"` + event + `"}`
	f(`{"event":"A","eventId":"`+id2+`"}`, "loja", `{"items":[`+taken+`]}`)
	f(`[{"event":"A","eventId":"`+id2+`"},{"event":7,"eventId":"`+id+`"},{"event":"A","eventId":"`+id2+`"}]`, "loja",
		`{"items":[`+taken+`,{"eventId":"`+id+`","code":"invalid_event_name","field":"event","message":"must be a string"},`+taken+`]}`)
	f(`7`, "loja", `{"code":"invalid_json","message":"the body is not JSON"}`)
	f(`[]`, "loja", `{"code":"no_events","field":"events","message":"is empty"}`)
}

func TestAViolationSaysItsCodeAndField(t *testing.T) {
	f := func(body, want string) {
		t.Helper()
		if _, v := core.ParseBatch(body, "", options()); v == nil || v.Error() != want {
			t.Errorf("ParseBatch(%s): %v, want %s", body, v, want)
		}
	}
	f(``, "invalid_json: the body is empty")
	f(`{"event":"A"}`, "company_id_required: companyId is missing from the body and the query")
}
