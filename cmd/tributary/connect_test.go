package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

// Each reason that a connection, a task or an order set aside may have is said in a sentence.
func TestEveryReasonOfAShopHasASentence(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("..", "..", "internal", "commerce", "connection.go"))
	if err != nil {
		t.Fatal(err)
	}
	reasons := regexp.MustCompile(`(?m)^\tShop[A-Za-z]+ += "([a-z_]+)"`).FindAllStringSubmatch(string(source), -1)
	if len(reasons) < 14 {
		t.Fatalf("only %d reasons found", len(reasons))
	}
	for _, m := range reasons {
		if sentence := shopSentence(m[1], ""); strings.Contains(sentence, "The reason is") || !strings.HasSuffix(sentence, ".") {
			t.Errorf("%s: %q", m[1], sentence)
		}
	}
	if got := shopSentence(commerce.ShopLacksScope, "read\x1b[2J_orders"); strings.Contains(got, "\x1b") || !strings.Contains(got, "_orders") {
		t.Errorf("%q", got)
	}
}

func TestTheKeyFileOfConnectIsPrivateAndRotates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "connect.key")
	run := func(want int, word string) string {
		t.Helper()
		out, status := command(t, "connect", "key", word, "--connect-key-file", path)
		if status != want {
			t.Fatalf("%s: %d\n%s", word, status, out)
		}
		return out
	}
	run(statusFailed, "rotate") // there is none
	run(0, "create")
	read := func() (*account.SealKeys, []byte) {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("%v %v", info, err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		keys, err := account.ParseSealKeys(text)
		if err != nil {
			t.Fatal(err)
		}
		return keys, text
	}
	first, before := read()
	f := account.SealedFor{CompanyID: "c", ConnectionID: "n", Purpose: account.SealCredentials}
	sealed, id, err := first.Seal(f, []byte("token"))
	if err != nil {
		t.Fatal(err)
	}
	out := run(statusFailed, "create") // it would take away what opens the credentials
	if _, after := read(); string(after) != string(before) || !strings.Contains(out, "rotate") {
		t.Errorf("the key file was replaced: %s", out)
	}
	out = run(0, "rotate")
	second, _ := read()
	if got, err := second.Open(id, f, sealed); err != nil || string(got) != "token" || len(second.IDs()) != 2 || second.IDs()[0] == id {
		t.Errorf("%q %v %v\n%s", got, err, second.IDs(), out)
	}
	if strings.Contains(out, "private") || strings.Contains(out, "==") {
		t.Errorf("a key is printed: %s", out)
	}
}

func TestShopsAreLedToThisMachineAlone(t *testing.T) {
	for address, want := range map[string]bool{
		"http://127.0.0.1:9000": true, "http://[::1]:9000": true, "http://127.0.0.1": true, "https://127.0.0.1:9000": false,
		"http://localhost:1": false, "http://10.0.0.1": false, "http://example.com": false, "http://127.0.0.1.example.com": false,
		"http://a@127.0.0.1": false, "http://127.0.0.1@example.com": false, "": false, "127.0.0.1": false,
	} {
		if got := onThisMachine(address); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
	out, status := command(t, "connect", "--shop-address", "api.tiendanube.com=http://example.com")
	if status != statusUsage || !strings.Contains(out, "--shop-address api.tiendanube.com") {
		t.Errorf("%d\n%s", status, out)
	}
	out, status = command(t, "dev", "--data", t.TempDir(), "--shop-address", "api.tiendanube.com=http://example.com")
	if status != statusUsage {
		t.Errorf("dev: %d\n%s", status, out)
	}
}

func TestCredentialsAreCheckedAndNeverPrinted(t *testing.T) {
	offer := commerce.ConnectOffer{Platforms: []commerce.OfferedPlatform{{Name: "nuvemshop"}, {Name: "woo", Fields: []commerce.CredentialField{
		{Name: "url", Pattern: `https://[a-z.]+`, Label: map[string]string{"en": "Address"}},
		{Name: "more", Pattern: `[a-z]{4}|`, Label: map[string]string{"en": "More (optional)"}},
		{Name: "key", Pattern: `ck_[a-f0-9]{8}`, Secret: true, Label: map[string]string{"en": "Key"}},
	}}}}
	good := `{"url":"https://loja.example","key":"ck_0123abcd"}`
	plain, err := checkedCredentials(offer, "woo", []byte(good))
	if err != nil || !json.Valid(plain) || !strings.Contains(string(plain), "ck_0123abcd") {
		t.Fatalf("%s %v", plain, err)
	}
	for text, want := range map[string]string{
		"":    "JSON",
		"[1]": "JSON",
		`{"url":"https://loja.example","key":"ck_s3cr3t"}`:                    "key is missing",
		`{"url":"https://loja.example"}`:                                      "key is missing",
		`{"url":"https://loja.example/x","key":"ck_0123abcd"}`:                "url",
		`{"url":"https://loja.example","key":"ck_0123abcd","tok":"s3cr3t"}`:   `no field "tok"`,
		`{"url":"https://loja.example\nHost: s3cr3t","key":"ck_0123abcd"}`:    "url",
		`{"url":"https://loja.example","key":{"s3cr3t":"ck_0123abcd"}}`:       "JSON",
		`{"url":"https://loja.example","key":"ck_0123abcd\u0000ck_0123abcd"}`: "key",
	} {
		if got, err := checkedCredentials(offer, "woo", []byte(text)); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "s3cr3t") || got != nil {
			t.Errorf("%s: %q %v", text, got, err)
		}
	}
	for name, want := range map[string]string{"nuvemshop": "dashboard", "shopify": "offers nuvemshop, woo"} {
		if _, err := checkedCredentials(offer, name, []byte(good)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The service runs beside a database, says what it offers, and stops; without one, the commands say so.
func TestConnectRuns(t *testing.T) {
	live, dsn := installation(t)
	path := filepath.Join(t.TempDir(), "connect.key")
	if out, status := command(t, "connect", "key", "create", "--connect-key-file", path); status != 0 {
		t.Fatal(out)
	}
	secret := filepath.Join(t.TempDir(), "credentials.json")
	if err := os.WriteFile(secret, []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	add := []string{"connect", "add", "nowhere", "--company", live.CompanyID, "--credentials", secret}
	if out, status := command(t, add...); status != statusFailed || !strings.Contains(out, "No connect service runs") {
		t.Errorf("%d\n%s", status, out)
	}
	if out, status := command(t, "connect", "list", "--company", live.CompanyID, "--json"); status != 0 || strings.TrimSpace(out) != "[]" {
		t.Errorf("%d\n%s", status, out)
	}
	if out, status := command(t, "connect", "show", "zz", "--company", live.CompanyID); status != statusFailed ||
		!strings.Contains(out, "no such connection: zz") {
		t.Errorf("%d\n%s", status, out)
	}
	stored, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Close(context.Background())
	service := start(t, "connect", "--admin-url", "http://127.0.0.1:1", "--connect-key-file", path, "--addr", "127.0.0.1:0",
		"--shutdown-delay", "0s", "--contact", "ops@example.com")
	get := func(where string) func() *http.Request {
		return func() *http.Request {
			r, err := http.NewRequest(http.MethodGet, service.origin()+where, nil)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
	}
	service.is(http.StatusOK, get("/readyz"))
	if metrics := service.is(http.StatusOK, get("/metrics")); !strings.Contains(metrics, "tributary_connect_lag_seconds") {
		t.Error(metrics)
	}
	if out, status := command(t, add...); status != statusUsage || !strings.Contains(out, `there is no platform "nowhere"`) {
		t.Errorf("%d\n%s", status, out)
	}
	// Other credentials take the place of those that were given: by the connection's platform, of this company's connection.
	replace := func(id, want string, wanted int) {
		t.Helper()
		if out, status := command(t, "connect", "credentials", id, "--company", live.CompanyID, "--credentials", secret); status != wanted ||
			!strings.Contains(out, want) {
			t.Errorf("credentials of %s: %d\n%s", id, status, out)
		}
	}
	replace("zz", "no such connection: zz", statusFailed)
	if _, err := stored.Exec(t.Context(), `insert into connection (company_id, connection_id, platform, state, since, created_at, poll_seconds)
		values ($1, 'aaaa', 'vtex', 'ended', now(), now(), 120)`, live.CompanyID); err != nil {
		t.Fatal(err)
	}
	replace("aaaa", "--credentials: account is missing", statusUsage)
	given := `{"account":"loja","app_key":"vtexappkey-loja","app_token":"ABCDEFGHIJKLMNOPQRSTUVWXYZ"}`
	if err := os.WriteFile(secret, []byte(given), 0o600); err != nil {
		t.Fatal(err)
	}
	replace("aaaa", "this cannot be done in the connection's present state", statusFailed) // it has ended
	service.stop()
	service.says("connect stopped")
	// What is done with a connection is said to programs too.
	for _, row := range []string{`insert into connection (company_id, connection_id, platform, state, since, created_at, poll_seconds)
		values ($1, 'bbbb', 'vtex', 'live', now(), now(), 120)`,
		`insert into connection_turn (company_id, connection_id, next_at) values ($1, 'bbbb', now())`} {
		if _, err := stored.Exec(t.Context(), row, live.CompanyID); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range [][2]string{{"backfill", "live"}, {"pause", "paused"}, {"resume", "connecting"}, {"remove", "ended"}} {
		out, status := command(t, "connect", c[0], "bbbb", "--company", live.CompanyID, "--json")
		want := fmt.Sprintf(`{"connection_id":"bbbb","state":%q}`, c[1])
		if got := strings.Join(strings.Fields(out), ""); status != 0 || got != want {
			t.Errorf("connect %s: %d\n%s, want %s", c[0], status, out, want)
		}
	}
	doctor := func(want string) {
		t.Helper()
		if out, _ := command(t, "doctor"); !strings.Contains(out, want) {
			t.Errorf("doctor says nothing of %q:\n%s", want, out)
		}
	}
	doctor("it runs, with ")
	if _, err := stored.Exec(t.Context(), `update connect_offer set seen_at = seen_at - interval '2 minutes'`); err != nil {
		t.Fatal(err)
	}
	doctor("orders wait at the shops' platforms")
	if out, status := command(t, add...); status != statusFailed || !strings.Contains(out, "it last ran at") {
		t.Errorf("%d\n%s", status, out)
	}
}
