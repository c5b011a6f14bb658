package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/preview"
)

// A preview changes nothing, and says all that is wrong with a change.
func TestAPreviewedChangeIsNotMade(t *testing.T) {
	live, _ := installation(t)
	want := shown(t, live.CompanyID)
	f := func(wantStatus int, say string, args ...string) string {
		t.Helper()
		out, status := command(t, args...)
		if status != wantStatus || !strings.Contains(out, say) {
			t.Errorf("tributary %s: exit status %d and\n%s\nwant %d and %q", strings.Join(args, " "), status, out, wantStatus, say)
		}
		return out
	}
	const none = "moves the payout of 0 orders and the channel credit of 0, of 0 that were computed"
	f(0, none, "company", "set", live.CompanyID, "--hold-days", "14", "--preview")
	f(1, "--hold-days", "company", "set", live.CompanyID, "--hold-days", "999", "--preview")
	if got := shown(t, live.CompanyID); !reflect.DeepEqual(got, want) {
		t.Errorf("after a preview the settings are %v, before %v", got, want)
	}
	const ana = `{"type":"influencer.create","name":"Ana Prado","links":[{"url":"https://loja.example.com/"}]}`
	f(0, none, "preview", "--company", live.CompanyID, ana)
	out := f(0, `"moves": []`, "preview", "--company", live.CompanyID, "--json", ana)
	var found preview.Answer
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		t.Error(err)
	}
	f(1, "no such influencer", "preview", "--company", live.CompanyID, `{"type":"influencer.archive","name":"Ana Prado"}`)
	f(1, "has no influencer", "company", "set", live.CompanyID, "--influencer", "Ana Prado", "--unproven", "pay", "--preview")
	f(1, "cupom is required", "preview", "--company", live.CompanyID, `{"type":"coupon.create","campaign_id":"x"}`)
	f(1, "type must be one of", "preview", "--company", live.CompanyID, `{"type":"x"}`)
	f(1, "CHANGE \"coupon\" is not JSON: write it as", "preview", "--company", live.CompanyID, `coupon`)
}

func TestAPreviewIsShownInWords(t *testing.T) {
	sum := func(minor int64) commerce.Sum { return commerce.Sum{Minor: decimal.NewFromInt(minor), Currency: "BRL"} }
	ana := &preview.Share{Influencer: "Ana\u202e", Evidence: "coupon", State: facts.PayoutEarned, Amount: sum(2300), PayableOn: "2026-04-01"}
	beto := &preview.Share{Influencer: "Beto", Evidence: "link", State: facts.PayoutReview, Amount: sum(1000)}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	answer := &preview.Answer{
		Moves: []preview.Move{
			{OrderID: "2", CreatedAt: at, From: ana, To: beto, Amount: sum(-1300), Currency: "BRL"},
			{OrderID: "1", CreatedAt: at, To: ana, Amount: sum(2300), Currency: "BRL"},
		},
		Totals: []preview.Total{{Influencer: "Beto", State: facts.PayoutReview, After: sum(1000), Amount: sum(1000),
			Before: sum(0), Currency: "BRL"}},
		Credit: []preview.Moved{{Model: "last", Channel: "Beto", Amount: sum(500), Currency: "BRL"}},
		Orders: preview.Orders{Concerned: 9, More: true, Computed: 5, LeftOut: 4, Moved: 3, Credited: 1}, Cut: preview.CutOrders,
	}
	var out strings.Builder
	if err := (&previewFlags{}).show(&out, answer); err != nil {
		t.Fatal(err)
	}
	for _, say := range []string{
		"2      2026-03-01T12:00:00Z  Ana", "23.00 BRL (coupon, earned) from 2026-04-01  Beto 10.00 BRL (link, review)", "-13.00 BRL\n", "nobody",
		"moves the payout of 3 orders and the channel credit of 1, of 5 that were computed. It may move at least 4 older ones too: give " +
			"--orders. The newest 2 moves are shown.",
		"Beto            review  10.00 BRL  before 0.00 BRL", "credit by last  Beto    5.00 BRL",
	} {
		if !strings.Contains(out.String(), say) {
			t.Errorf("%q is not in\n%s", say, out.String())
		}
	}
	if strings.Contains(out.String(), "\u202e") {
		t.Errorf("a name turns the line around:\n%s", out.String())
	}
}
