package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/test/await"
)

// secretFiles writes two hashing secrets, of which the first is that of the services of the tests, and returns the flags of a service
// before, while and after the second takes the first one's place.
func secretFiles(t *testing.T) (stages [3][]string) {
	t.Helper()
	file := func(name, secret string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	first, second := file("first", strings.Repeat("s", 32)), file("second", strings.Repeat("n", 32))
	stages = [3][]string{
		{"--hashing-secret-file", first},
		{"--hashing-secret-file", second, "--previous-hashing-secret-file", first},
		{"--hashing-secret-file", second},
	}
	section := sectionOf(t, docsPage(t, "operations.md"), "### Rotate the hashing secret")
	flagsOf := func(step, next string) []string {
		_, text, _ := strings.Cut(section, "\n"+step)
		text, _, _ = strings.Cut(text, "\n"+next)
		return regexp.MustCompile(`--[a-z-]+`).FindAllString(text, -1)
	}
	given := func(args []string) []string {
		return slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return !strings.HasPrefix(arg, "--") })
	}
	begin, without := flagsOf("1. ", "2. "), flagsOf("3. ", "4. ")
	if !slices.Equal(given(stages[1]), begin) || !slices.Equal(slices.Concat(given(stages[2]), without), begin) {
		t.Errorf("the page begins a rotation with %q and ends it without %q", begin, without)
	}
	return stages
}

// A rotation of the hashing secret, the edges first at its beginning and the admins first at its end, under load: no request is refused,
// and a sale of a visitor who came before it is the influencer's.
func TestARotationOfTheHashingSecretRefusesNothing(t *testing.T) {
	stages := secretFiles(t)
	argsAt := func(stage int, args ...string) []string {
		return append(append(args, "--shutdown-delay", "1s"), stages[stage]...)
	}
	edgeAt := func(stage int) []string { return argsAt(stage, "edge") }
	adminAt := func(stage int) []string { return argsAt(stage, "admin", "--short-base", "go.example.com") }
	s := startServices(t, edgeAt(0)[1:]...)
	edges, edgeURL := balance(t, s.edge, start(t, edgeAt(0)...))
	s.admin.stop()
	admins, adminURL := balance(t, start(t, adminAt(0)...), start(t, adminAt(0)...))
	for _, b := range []*balancer{edges, admins} {
		await.Until(t, await.Long, func() bool {
			b.mu.Lock()
			defer b.mu.Unlock()
			return b.ready[b.services[0]] && b.ready[b.services[1]]
		}, func() string { return b.services[0].out.String() + b.services[1].out.String() })
	}
	send := func(url, body string) error {
		response, err := http.DefaultClient.Do(s.request(http.MethodPost, url, body))
		if err != nil {
			return err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err == nil && (response.StatusCode/100 != 2 || strings.Contains(string(text), `"status":"rejected"`)) {
			err = fmt.Errorf("%s %s", response.Status, text)
		}
		return err
	}
	must := func(url, body string) {
		t.Helper()
		if err := send(url, body); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := pgx.Connect(t.Context(), s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, sql := range []string{
		`insert into influencer (company_id, influencer_id, name, name_folded, rev) values ($1, gen_random_uuid(), 'Ana', 'ana', 1)`,
		`update company set rules_rev = rules_rev + 1 where company_id = $1`,
	} {
		if _, err := conn.Exec(t.Context(), sql, s.company); err != nil {
			t.Fatal(err)
		}
	}
	const cart = "3f9d2b7c6e1a4850b7d2c9e4f1a6%04d"
	visit := func(n int) {
		t.Helper()
		must(edgeURL+"/v1/events",
			fmt.Sprintf(`{"companyId":%q,"event":"PAGE_VIEW","eventId":%q,"visitorId":%q,"identity":{"cart_token":"`+cart+`"},
			"context":{"page":{"url":"https://loja.example.com/?utm_source=influencer&utm_campaign=Ana"}}}`, s.company, uuid.Must(uuid.NewV7()),
				uuid.NewString(), n))
	}
	order := func(id string, n int) {
		t.Helper()
		now := time.Now().UTC().Add(time.Second).Format(time.RFC3339)
		must(adminURL+"/admin/v1/order",
			fmt.Sprintf(`{"orderId":%q,"orderStatus":0,"createdAt":%q,"totalPrice":1,"currency":"BRL","cartToken":"`+cart+`"}`, id, now, n))
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var load sync.WaitGroup
	var sent atomic.Int64
	for _, request := range []func(n int) (url, body string){
		func(int) (url, body string) { return edgeURL + "/v1/events", s.event() },
		func(n int) (url, body string) {
			return adminURL + "/admin/v1/order", strings.Replace(anOrder, "1001", fmt.Sprint("load", n), 1)
		},
	} {
		load.Go(func() {
			pace := time.NewTicker(20 * time.Millisecond)
			defer pace.Stop()
			for n := 0; ctx.Err() == nil; n++ {
				if err := send(request(n)); err != nil {
					t.Errorf("request %d: %v", n, err)
					return
				}
				sent.Add(1)
				<-pace.C
			}
		})
	}
	visit(1)
	for at := range 2 {
		edges.replace(t, at, edgeAt(1)...)
	}
	order("admin is not restarted", 1)
	visit(2)
	for at := range 2 {
		admins.replace(t, at, adminAt(1)...)
	}
	order("of before", 1)
	order("of the roll", 2)
	visit(3)
	for at := range 2 {
		admins.replace(t, at, adminAt(2)...)
	}
	order("edge has both", 3)
	visit(4)
	for at := range 2 {
		edges.replace(t, at, edgeAt(2)...)
	}
	order("after", 4)
	stop()
	load.Wait()
	if sent.Load() < 20 || edges.refused.Load()+admins.refused.Load() > 0 {
		t.Errorf("%d requests were sent, refused %d and %d", sent.Load(), edges.refused.Load(), admins.refused.Load())
	}
	var sales []byte
	await.Until(t, await.Long, func() bool {
		var n int
		err = conn.QueryRow(context.Background(), `
			select coalesce(json_agg(order_id order by order_id), '[]'), count(*) from payout where influencer_id is not null`).Scan(&sales, &n)
		return err != nil || n == 5
	}, func() string { return "of five sales, the influencer's are " + string(sales) })
	if err != nil || !json.Valid(sales) {
		t.Fatal(err)
	}
}

func TestFlagsOfTheFormerHashingSecret(t *testing.T) {
	f := func(current, former string, compromised, rotates, verifies bool, fault string) {
		t.Helper()
		hasher, previous, err := (&formerHashing{compromised: compromised}).beside([]byte(current), []byte(former))
		if fault != "" {
			if err == nil || !strings.Contains(err.Error(), fault) {
				t.Errorf("%v, want %q", err, fault)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, has := hasher.Company("c_1", "BR").Former(); has != rotates || (previous != nil) != verifies {
			t.Errorf("it has former keys: %v, and recognises what the former secret signed: %v", has, previous != nil)
		}
	}
	first, second := strings.Repeat("s", identity.MinSecret), strings.Repeat("n", identity.MinSecret)
	f(first, "", false, false, false, "")
	f(second, first, false, true, true, "")
	f(second, first, true, true, false, "")
	f(second, "", true, false, false, "give --previous-hashing-secret-file")
	f(second, "short", false, false, false, "--previous-hashing-secret")
	f("short", first, false, false, false, "at least 32")
	f(first, first, false, false, false, "the same")
}
