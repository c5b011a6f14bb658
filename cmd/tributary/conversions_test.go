package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
)

// Each command of conversions: what is wrong and what to do, what was done, and why an order was not sent. Those of webhooks take no
// account's id, and those of conversions no endpoint's.
func TestConversionsByTheCommandLine(t *testing.T) {
	live, dsn := installation(t)
	run := func(group string, want int, args ...string) string {
		t.Helper()
		out, status := command(t, append([]string{group, args[0]}, append(args[1:], "--company", live.CompanyID)...)...)
		if status != want || strings.Contains(out, "postgres:") || strings.Contains(out, "SQLSTATE") || strings.Contains(out, "EAAB") {
			t.Fatalf("%s %v: %d, want %d\n%s", group, args, status, want, out)
		}
		return out
	}
	f := func(want int, args ...string) string { t.Helper(); return run("conversions", want, args...) }
	says := func(out string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("it does not say %q:\n%s", w, out)
			}
		}
	}
	token := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(token, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("EAABsecret\n")
	add := []string{"add", "--network", "meta", "--name", "Meta", "--account-id", "1234567890", "--secret-file", token, "--test-code", "TEST1"}
	says(f(statusFailed, add...), "No connect service runs")
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
	says(f(statusUsage, "add", "--network", "ga4", "--name", "x", "--account-id", "1", "--secret-file", token, "--action-id", "7",
		"--test-code", "TEST1"), "--account-id is the measurement id", "--action-id is for google alone", "--test-code must be check")
	says(f(statusUsage, "add", "--network", "facebook", "--name", "x", "--account-id", "1", "--secret-file", token),
		"--network must be one of meta, ga4, google, tiktok")
	says(f(statusUsage, "add", "--network", "google", "--name", "x", "--account-id", "1234567890", "--action-id", "7", "--secret-file", token),
		"--secret-file must be the key file of a service account")
	says(f(statusFailed, "add", "--network", "meta", "--name", "x", "--account-id", "1234567890", "--secret-file", token+".none"),
		"--secret-file: ")
	if out := f(0, "list", "--json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("%s", out)
	}
	made := regexp.MustCompile(`^Account (net_[a-z0-9]{16}) is told of what is sold from now on\.\n$`).FindStringSubmatch(f(0, add...))
	if made == nil {
		t.Fatal("add does not name the account")
	}
	a := made[1]
	says(f(statusFailed, add...), "the company has this account already")
	says(f(0, "list"), "ACCOUNT", "ALL ORDERS", a, "Meta", "meta", "1234567890", "TEST1", "active")

	secrets := func() (text string) {
		t.Helper()
		l := commerce.ConnectLease{Holder: "reads", For: time.Minute}
		leased, err := db.LeaseDestinations(t.Context(), commerce.Networks, l, 10)
		if err != nil || len(leased) != 1 || len(leased[0].Secrets) != 1 {
			t.Fatalf("%+v, %v", leased, err)
		}
		plain, err := keys.Open(leased[0].Secrets[0].KeyID, account.SealedFor{CompanyID: live.CompanyID, ConnectionID: a,
			Purpose: account.SealNetwork}, leased[0].Secrets[0].Sealed)
		if err == nil {
			err = db.ReleaseDestination(t.Context(), l, leased[0], time.Now(), time.Now())
		}
		if err != nil {
			t.Fatal(err)
		}
		return string(plain)
	}
	if got := secrets(); got != "EAABsecret" {
		t.Errorf("it sends by %q", got)
	}
	write("EAAB new")
	says(f(statusUsage, "secret", a, "--secret-file", token), "--secret-file has a space")
	write(strings.Repeat("x", commerce.MaxNetworkSecret+1))
	says(f(statusUsage, "secret", a, "--secret-file", token), "--secret-file has more than 8192 bytes")
	write("EAABnew")
	says(f(0, "secret", a, "--secret-file", token), "with the new secret")
	if got := secrets(); got != "EAABnew" {
		t.Errorf("it sends by %q", got)
	}

	said := regexp.MustCompile(`^Message (\d+) is sent\. See what became of it: tributary conversions messages ` + a).
		FindStringSubmatch(f(0, "test", a))
	if said == nil {
		t.Fatal("test does not name the message")
	}
	l := commerce.ConnectLease{Holder: "test", For: time.Minute}
	leased, err := db.LeaseDestinations(t.Context(), commerce.Networks, l, 10)
	if err != nil || len(leased) != 1 {
		t.Fatalf("%+v, %v", leased, err)
	}
	var number int64
	if _, err := fmt.Sscan(said[1], &number); err != nil {
		t.Fatal(err)
	}
	if err := db.StoreSent(t.Context(), l, leased[0], []commerce.Sent{{Number: number, State: commerce.MessageSkipped,
		Try: commerce.Try{At: time.Now(), Failure: commerce.SkipNoConsent}}}, commerce.DestinationHealth{}); err != nil {
		t.Fatal(err)
	}
	out := f(0, "messages", a, "--state", "skipped", "--json")
	var list []map[string]any
	if json.Unmarshal([]byte(out), &list) != nil || len(list) != 1 || list[0]["last_failure"] != "no_consent" || list[0]["webhook_id"] != nil {
		t.Errorf("%s", out)
	}
	says(f(statusUsage, "messages", a, "--state", "lost"), "--state must be one of waiting, delivered, parked, skipped")
	says(f(0, "resend", a, "--sequence", said[1]), "is sent again.")
	says(f(0, "replay", a, "--from", "2026-01-01T00:00:00Z"), "0 messages wait to be sent.")

	says(f(0, "change", a, "--test-code", "", "--all-orders", "--disable"), "Account "+a+" is disabled.")
	if out = f(0, "list", "--json"); json.Unmarshal([]byte(out), &list) != nil || list[0]["test_code"] != nil ||
		list[0]["all_orders"] != true || list[0]["name"] != "Meta" || list[0]["account_id"] != "1234567890" {
		t.Errorf("%s", out)
	}
	says(f(statusFailed, "test", a), "the account is disabled: `tributary conversions change --enable` enables it")
	says(f(0, "change", a, "--enable", "--all-orders=false"), "is active.")

	// An id of the other kind is none.
	e := commerce.Endpoint{ID: "whe_abcdefghijklmnop", Name: "ERP", URL: "https://erp.example.com/", Types: commerce.EventTypes, Active: true}
	author := commerce.Author{CompanyID: live.CompanyID, Actor: "test", At: time.Now()}
	if err := db.AddEndpoint(t.Context(), author, e, commerce.SealedSecret{KeyID: "k", Sealed: []byte{1}}); err != nil {
		t.Fatal(err)
	}
	for group, other := range map[string]string{"webhooks": a, "conversions": e.ID} {
		for _, args := range [][]string{{"change", other, "--disable"}, {"remove", other}, {"test", other}, {"messages", other},
			{"resend", other, "--sequence", "1"}, {"replay", other, "--from", "2026-01-01T00:00:00Z"}} {
			says(run(group, statusFailed, args...), ", or message of it: "+other+"; `tributary "+group+" list`")
		}
	}
	says(run("webhooks", statusFailed, "secret", a), "no such endpoint")
	says(f(statusFailed, "secret", e.ID, "--secret-file", token), "no such account")
	states, err := db.EndpointStates(t.Context(), live.CompanyID)
	if err != nil || len(states) != 2 || !states[0].Active || !states[1].Active {
		t.Errorf("%+v, %v", states, err)
	}
	says(f(0, "remove", a), "Account "+a+" is removed.")
	says(f(statusFailed, "remove", a), "no such account")
}
