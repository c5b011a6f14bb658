package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
)

// Each command of webhooks, as somebody reads it who knows nothing of the program: what is wrong and what to do, what was done, and how
// each message is.
func TestWebhooksByTheCommandLine(t *testing.T) {
	live, dsn := installation(t)
	f := func(want int, args ...string) string {
		t.Helper()
		out, status := command(t, append([]string{"webhooks", args[0]}, append(args[1:], "--company", live.CompanyID)...)...)
		if status != want || strings.Contains(out, "postgres:") || strings.Contains(out, "SQLSTATE") {
			t.Fatalf("webhooks %v: %d, want %d\n%s", args, status, want, out)
		}
		return out
	}
	says := func(out string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("it does not say %q:\n%s", w, out)
			}
		}
	}
	const erp = "https://erp.example.com/tributary"
	says(f(statusFailed, "add", "--name", "ERP", "--url", erp), "No connect service runs")
	opened, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	db := merchant.New(opened)
	keys, err := account.NewSealKeys()
	if err != nil {
		t.Fatal(err)
	}
	id, public := keys.Newest()
	if err := db.OfferConnect(t.Context(), commerce.ConnectOffer{KeyID: id, PublicKey: public, SeenAt: time.Now()}); err != nil {
		t.Fatal(err)
	}
	says(f(statusUsage, "add", "--name", "ERP", "--url", "http://erp.example.com", "--types", "payout.changed,webhook.test"),
		"--url must be an https URL", "--types must be one of order.attributed")
	if out := f(0, "list", "--json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("%s", out)
	}

	out := f(0, "add", "--name", "ERP", "--url", erp, "--types", "payout.review, payout.changed,payout.review")
	made := regexp.MustCompile(`^Endpoint (whe_[a-z0-9]{16}) gets events from now on\.\n` +
		`Its secret, which nobody can show again: (whsec_\S{44})\n$`).FindStringSubmatch(out)
	if made == nil {
		t.Fatalf("add says\n%s", out)
	}
	e := made[1]
	says(f(0, "list"), "ENDPOINT", "STATE", "GIVEN UP", e, "ERP", erp, "active")
	var list []map[string]any
	if out = f(0, "list", "--json"); json.Unmarshal([]byte(out), &list) != nil || len(list) != 1 ||
		list[0]["types"] != "payout.changed payout.review" || strings.Contains(out, "whsec_") {
		t.Errorf("%s", out)
	}

	rotated := regexp.MustCompile(`whsec_\S{44}`).FindString(f(0, "secret", e))
	if rotated == "" || rotated == made[2] {
		t.Errorf("the new secret is %q", rotated)
	}
	l := commerce.ConnectLease{Holder: "test", For: time.Minute}
	leased, err := db.LeaseDestinations(t.Context(), []commerce.DestinationKind{commerce.ToWebhook}, l, 10)
	if err != nil || len(leased) != 1 {
		t.Fatalf("%+v, %v", leased, err)
	}
	for i, want := range []string{rotated, made[2]} { // both sign
		sealed := leased[0].Secrets[i]
		plain, err := keys.Open(sealed.KeyID, account.SealedFor{CompanyID: live.CompanyID, ConnectionID: e, Purpose: account.SealWebhook},
			sealed.Sealed)
		if err != nil || string(plain) != want || i > 0 && time.Until(sealed.EndsAt) < 23*time.Hour {
			t.Errorf("secret %d opens as %q until %v, %v", i, plain, sealed.EndsAt, err)
		}
	}

	var numbers []int64 // of three messages, the first being the first
	for range 3 {
		out = f(0, "test", e)
		said := regexp.MustCompile(`^Message (\d+) is sent\. See what became of it: tributary webhooks messages ` + e).FindStringSubmatch(out)
		if said == nil {
			t.Fatalf("test says\n%s", out)
		}
		number, err := strconv.ParseInt(said[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, number)
	}
	now := time.Now()
	if err := db.StoreSent(t.Context(), l, leased[0], []commerce.Sent{
		{Number: numbers[0], State: commerce.MessageDelivered, Try: commerce.Try{At: now, Status: 204}},
		{Number: numbers[1], State: commerce.MessageParked, Try: commerce.Try{At: now, Status: 500, Failure: commerce.TryStatus,
			Answer: "no such tenant"}},
	}, commerce.DestinationHealth{FailingSince: now, Failures: 1}); err != nil {
		t.Fatal(err)
	}
	says(f(0, "list"), "failing")
	out = f(0, "messages", e)
	says(out, "SEQUENCE", "webhook.test", "delivered", "204", "parked", "500", "status", "waiting", "NEXT ATTEMPT")
	if third, second := strings.Index(out, "waiting"), strings.Index(out, "parked"); third > second {
		t.Errorf("the newest is not the first:\n%s", out)
	}
	if out = f(0, "messages", e, "--state", "parked", "--json"); json.Unmarshal([]byte(out), &list) != nil || len(list) != 1 ||
		list[0]["last_answer"] != "no such tenant" {
		t.Errorf("%s", out)
	}
	says(f(statusUsage, "messages", e, "--state", "lost"), "--state must be one of waiting, delivered, parked")
	says(f(0, "resend", e, "--sequence", fmt.Sprint(numbers[1])), fmt.Sprintf("Message %d is sent again.", numbers[1]))
	says(f(statusFailed, "resend", e, "--sequence", "99"), "no such endpoint, or message of it: "+e)
	says(f(0, "replay", e, "--from", "2026-01-01T00:00:00Z"), "0 messages wait to be sent.")
	says(f(statusUsage, "replay", e, "--from", "yesterday"), "--from")
	says(f(statusUsage, "replay", e, "--from", "2026-01-01T00:05:00Z", "--to", "2026-01-01T00:00:00Z"), "--from must be less than 5 minutes")

	says(f(0, "change", e, "--disable", "--name", "Old ERP"), "Endpoint "+e+" is disabled.")
	says(f(0, "list"), "Old ERP", "disabled", "merchant")
	says(f(statusFailed, "test", e), "the endpoint is disabled: `tributary webhooks change --enable` enables it")
	says(f(statusUsage, "change", e, "--url", "https://10.0.0.1/"), "--url must name its host, not an IP address")
	says(f(0, "change", e, "--enable"), "Endpoint "+e+" is active.")
	for _, args := range [][]string{{"change", "whe_none"}, {"secret", "whe_none"}, {"remove", "whe_none"}, {"test", "whe_none"},
		{"messages", "whe_none"}, {"replay", "whe_none", "--from", "2026-01-01T00:00:00Z"}} {
		says(f(statusFailed, args...), "no such endpoint, or message of it: whe_none; `tributary webhooks list` shows the endpoints")
	}
	says(f(0, "remove", e), "Endpoint "+e+" is removed.")
	says(f(statusFailed, "remove", e), "no such endpoint")
}
