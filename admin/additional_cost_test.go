package admin_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/internal/commerce"
)

func TestAdditionalCostsComeChangeAndGo(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	const path = "/admin/v1/costs"
	add := func(body string) string {
		t.Helper()
		got := s.call("POST", path, s.live, body)
		s.want(got, 200, "")
		var data map[string]string
		if err := json.Unmarshal(got.Data, &data); err != nil || data["additional_cost_id"] == "" {
			t.Fatalf("%s %v", got.Data, err)
		}
		return data["additional_cost_id"]
	}
	rent := add(`{"name":"Aluguel","category":"rent","value":1000.01,"frequency":"monthly","start_date":"2026-01-01"}`)
	fair := add(`{"name":"Feira","value":50,"frequency":"specific","start_date":"2026-02-10"}`)

	f := func(method, body string, status int, code string) {
		t.Helper()
		s.want(s.call(method, path, s.live, body), status, code)
	}
	f("POST", `{"name":"x","value":0,"frequency":"daily","start_date":"2026-01-01"}`, 400, "validation_error")
	f("POST", `{"name":"x","value":1,"frequency":"yearly","start_date":"2026-01-01"}`, 400, "validation_error")
	f("POST", `{"name":"x","value":1,"frequency":"daily"}`, 400, "validation_error")
	f("POST", `{"name":"x","value":1,"frequency":"daily","start_date":"2026-01-02","end_date":"2026-01-01"}`, 400, "invalid_date")

	list := func(query, want string) {
		t.Helper()
		got := s.call("GET", path+query, s.live, "")
		s.want(got, 200, "")
		text := strings.NewReplacer(rent, "rent-id", fair, "fair-id").Replace(string(got.Data))
		if text != want {
			t.Errorf("%s:\n got %s\nwant %s", query, text, want)
		}
	}
	const fairGroup = `{"frequency":"specific","details":[{"additional_cost_id":"fair-id","name":"Feira","category":"","value":50,` +
		`"start_date":"2026-02-10","end_date":"","frequency":"specific"}]}`
	const rentGroup = `{"frequency":"monthly","details":[{"additional_cost_id":"rent-id","name":"Aluguel","category":"rent",` +
		`"value":1000.01,"start_date":"2026-01-01","end_date":"","frequency":"monthly"}]}`
	list("", "["+fairGroup+","+rentGroup+"]")
	list("?frequency=monthly", "["+rentGroup+"]")
	list("?start_date=2026-03-01", "["+rentGroup+"]")
	list("?end_date=2025-12-31", "[]")
	s.want(s.call("GET", path+"?frequency=x", s.live, ""), 400, "validation_error")

	pair := func(id, frequency, rest string) string {
		return `{"additional_cost_id":"` + id + `","frequency":"` + frequency + `"` + rest + `}`
	}
	f("PUT", pair(rent, "weekly", `,"value":7`), 404, "not_found")
	f("PUT", pair("x", "weekly", `,"value":7`), 404, "not_found")
	f("PUT", pair(rent, "monthly", `,"end_date":"2025-01-01"`), 400, "invalid_date")
	f("PUT", pair(rent, "monthly", `,"value":-7`), 400, "validation_error")
	f("PUT", pair(rent, "monthly", `,"value":7,"new_frequency":"weekly","category":null,"end_date":"2026-01-31"`), 200, "")
	list("?frequency=weekly",
		`[{"frequency":"weekly","details":[{"additional_cost_id":"rent-id","name":"Aluguel","category":"","value":7,"start_date":"2026-01-01",`+
			`"end_date":"2026-01-31","frequency":"weekly"}]}]`)
	s.want(s.call("DELETE", "/sandbox/admin/v1/costs", s.test, pair(rent, "weekly", "")), 404, "not_found")
	f("DELETE", pair(rent, "monthly", ""), 404, "not_found")
	f("DELETE", pair(rent, "weekly", ""), 200, "")
	f("DELETE", pair(rent, "weekly", ""), 404, "not_found")
	list("", "["+fairGroup+"]")
}

// A change counts from its day on, and so does a removal: the past stays as it was.
func TestAChangedCostKeepsItsPast(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	const path = "/admin/v1/costs"
	add := func(body string) string {
		t.Helper()
		got := s.call("POST", path, s.live, body)
		s.want(got, 200, "")
		var data map[string]string
		if err := json.Unmarshal(got.Data, &data); err != nil {
			t.Fatal(err)
		}
		return data["additional_cost_id"]
	}
	// What a day's costs sum to: "2026-02-01" is past for ever, "2190-02-01" to come.
	total := func(day, want string) {
		t.Helper()
		got := s.call("GET", path+"/historical?start_date="+day+"&end_date="+day, s.live, "")
		s.want(got, 200, "")
		var days []struct{ Total json.Number }
		if err := json.Unmarshal(got.Data, &days); err != nil || len(days) != 1 || days[0].Total.String() != want {
			t.Errorf("%s: %s %v, want %s", day, got.Data, err, want)
		}
	}
	const past, ahead = "2026-02-01", "2190-02-01"
	rent := add(`{"name":"Aluguel","value":100,"frequency":"daily","start_date":"2026-01-01"}`)
	later := add(`{"name":"Feira","value":7,"frequency":"daily","start_date":"2190-01-01"}`)
	pair := func(id, rest string) string {
		return `{"additional_cost_id":"` + id + `","frequency":"daily"` + rest + `}`
	}
	f := func(method, body, wantPast, wantAhead string) {
		t.Helper()
		s.want(s.call(method, path, s.live, body), 200, "")
		total(past, wantPast)
		total(ahead, wantAhead)
	}
	total(past, "100")
	total(ahead, "107")
	f("PUT", pair(rent, `,"value":120`), "100", "127")
	f("PUT", pair(rent, `,"value":130,"end_date":"2190-12-31"`), "100", "137") // twice on one day, or on two: the same
	f("PUT", pair(later, `,"value":8`), "100", "138")
	got := s.call("GET", path, s.live, "")
	s.want(got, 200, "")
	if text := string(got.Data); strings.Count(text, "additional_cost_id") != 2 || !strings.Contains(text, `"value":130`) {
		t.Errorf("listed: %s", text)
	}
	f("DELETE", pair(later, ""), "100", "130")
	f("DELETE", pair(rent, ""), "100", "0")
	if n := s.count(`select count(*) from additional_cost where deleted_at is null`); n != 0 {
		t.Errorf("%d costs go on", n)
	}
	s.want(s.call("DELETE", path, s.live, pair(rent, "")), 404, "not_found")
	s.want(s.call("PUT", path, s.live, pair(rent, `,"value":1`)), 404, "not_found")
	s.want(s.call("DELETE", path, s.live, pair(later, "")), 404, "not_found")
}

func TestCostHistoryHasEveryDayAndSumsExactly(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	for _, body := range []string{
		`{"name":"Aluguel","value":1000.01,"frequency":"monthly","start_date":"2026-01-01"}`,
		`{"name":"Feira","value":50,"frequency":"specific","start_date":"2026-02-10"}`,
	} {
		s.want(s.call("POST", "/admin/v1/costs", s.live, body), 200, "")
	}
	got := s.call("GET", "/admin/v1/costs/historical?start_date=2026-02-01&end_date=2026-02-28", s.live, "")
	s.want(got, 200, "")
	var days []struct {
		Date  string
		Total json.Number
		Costs []struct {
			Name  string
			Value json.Number
		}
	}
	if err := json.Unmarshal(got.Data, &days); err != nil {
		t.Fatal(err)
	}
	if len(days) != 28 || days[0].Date != "2026-02-01" || days[0].Total != "35.72" || len(days[9].Costs) != 2 || days[9].Total != "85.72" ||
		days[27].Total != "35.71" {
		t.Errorf("%+v", days)
	}
	f := func(query string, status int, code string) {
		t.Helper()
		s.want(s.call("GET", "/admin/v1/costs/historical"+query, s.live, ""), status, code)
	}
	f("", 400, "validation_error")
	f("?start_date=2026-01-01", 400, "validation_error")
	f("?start_date=2026-01-02&end_date=2026-01-01", 400, "invalid_date")
	f("?start_date=2026-01-01&end_date=2027-01-01", 200, "")
	f("?start_date=2026-01-01&end_date=2027-01-02", 400, "validation_error")
}

func TestAnInfluencerHasABoundedNumberOfCosts(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	n := 0
	register := func(costs int) answer {
		n++
		return s.call("POST", "/admin/v1/influencers", s.live,
			fmt.Sprintf(`{"name":"Ana Prado","category":"%d"`, n)+`,"links":[{"url":"https://loja.example.com/"}],"costs":[`+
				strings.TrimSuffix(strings.Repeat(`{"fixed_fee":1,"start_date":"2026-01-01"},`, costs), ",")+`]}`)
	}
	for range commerce.MaxLiveCosts / 100 {
		s.want(register(100), 200, "")
	}
	got := register(1)
	s.want(got, 400, "validation_error")
	if d := got.Error.Details; len(d) != 1 || d[0].Field != "costs" || d[0].Code != "too_many" {
		t.Errorf("details %+v", d)
	}
	one := func() answer {
		return s.call("POST", "/admin/v1/influencers/costs", s.live, `{"name":"Ana Prado","fixed_fee":1,"start_date":"2026-01-01"}`)
	}
	s.want(one(), 400, "validation_error")
	var groups []struct {
		Details []struct {
			CostID string `json:"cost_id"`
		}
	}
	list := s.call("GET", "/admin/v1/influencers/costs", s.live, "")
	if err := json.Unmarshal(list.Data, &groups); err != nil || len(groups) != 1 || len(groups[0].Details) != commerce.MaxLiveCosts {
		t.Fatalf("%.300s: %v", list.Data, err)
	}
	s.want(s.call("DELETE", "/admin/v1/influencers/costs", s.live, `{"cost_id":"`+groups[0].Details[0].CostID+`"}`), 200, "")
	s.want(one(), 200, "")
}

// A fixed amount is owed from a day of the merchant's, or from the first of next month.
func TestAFixedAmountIsOwedFromADay(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	s.want(s.call("POST", "/admin/v1/influencers", s.live, `{"name":"Ana Prado","links":[{"url":"https://loja.example.com/"}]}`), 200, "")
	day := func(days int) string { return time.Now().UTC().AddDate(0, 0, days).Format(time.DateOnly) }
	f := func(rates, owed string, status int, whole, code string) {
		t.Helper()
		got := s.call("POST", "/admin/v1/influencers/costs", s.live,
			`{"name":"Ana Prado",`+rates+`,"frequency":"monthly","start_date":"2026-01-01","owed_from":`+owed+`}`)
		s.want(got, status, whole)
		if status == 200 {
			return
		}
		if d := got.Error.Details; len(d) != 1 || d[0].Field != "owed_from" || d[0].Code != code {
			t.Errorf("%s %s: %+v", rates, owed, d)
		}
	}
	f(`"value":500`, `"2026-02-30"`, 400, "invalid_date", "invalid_date")
	f(`"value":500`, `"`+day(-369)+`"`, 400, "validation_error", "out_of_range")
	f(`"var_fee":5`, `"`+day(0)+`"`, 400, "validation_error", "invalid_value")
	f(`"value":500`, `null`, 200, "", "")
	f(`"value":600`, `"`+day(-300)+`"`, 200, "", "")
	f(`"value":700`, `"`+day(40)+`"`, 200, "", "")
}
