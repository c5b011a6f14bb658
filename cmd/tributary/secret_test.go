package main

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

// An admin whose hashing secret is not the directory's is not ready and publishes nothing, so that edges go on. Once an
// admin that has both secrets has published, the other one fits.
func TestAnAdminWithAWrongHashingSecretPutsNoEdgeOut(t *testing.T) {
	stages := secretFiles(t)
	s := startServices(t)
	adminAt := func(stage int) *running {
		return start(t, append([]string{"admin", "--short-base", "go.example.com"}, stages[stage]...)...)
	}
	readyz := func(r *running, status int) string {
		t.Helper()
		return r.is(status, func() *http.Request { return s.request(http.MethodGet, r.origin()+"/readyz", "") })
	}
	visit := func() {
		t.Helper()
		s.edge.is(http.StatusOK, func() *http.Request { return s.request(http.MethodPost, s.edge.origin()+"/v1/events", s.event()) })
	}
	visit() // the directory has the company
	wrong := adminAt(2)
	if text := readyz(wrong, http.StatusServiceUnavailable); !strings.Contains(text, `"hashing_secret":"wrong_hashing_secret"`) {
		t.Errorf("/readyz is %s", text)
	}
	for _, path := range []string{"/admin/v1/orders", "/login"} {
		wrong.is(http.StatusServiceUnavailable, func() *http.Request { return s.request(http.MethodPost, wrong.origin()+path, "{}") })
	}
	readyz(s.admin, http.StatusOK)
	s.admin.stop() // the wrong one may take its place
	wrong.says("the outbox could not be published")
	visit()
	if text := wrong.out.String(); strings.Count(text, "level=ERROR") != 1 || strings.Contains(text, "directory published") {
		t.Errorf("want one error and nothing published:\n%s", text)
	}
	both := adminAt(1)
	both.says("directory published")
	readyz(both, http.StatusOK)
	visit()
	readyz(wrong, http.StatusOK)
	both.stop()
	wrong.says("directory published")
}

// An empty directory tells nothing: it is read again until it has a company.
func TestAnEmptyDirectoryIsAskedAgain(t *testing.T) {
	broker := devtest.Kafka(t)
	check := &secretCheck{log: slog.New(slog.DiscardHandler), client: newClient(t, broker), hasher: hasherOf(t, "n")}
	if err := check.ask(t.Context()); err != nil {
		t.Fatal(err)
	}
	publishCompany(t, broker, "c_1", hasherOf(t, "s"))
	running := background.Start(t.Context(), check.log, "secret", check.run)
	defer func() {
		if err := running.Stop(); err != nil {
			t.Error(err)
		}
	}()
	await.Until(t, await.Long, func() bool { return errors.Is(check.state(t.Context()), admin.ErrWrongHashingSecret) },
		func() string { return "a wrong secret is not found" })
}

// What counts is the last record of each company that the directory has now.
func TestCompaniesOfAnotherHashingSecret(t *testing.T) {
	first, second := hasherOf(t, "s"), hasherOf(t, "n")
	rotating, err := second.Rotating(first)
	if err != nil {
		t.Fatal(err)
	}
	broker := devtest.Kafka(t)
	client := newClient(t, broker)
	f := func(h *identity.Hasher, wrong string) {
		t.Helper()
		check := secretCheck{log: slog.New(slog.DiscardHandler), client: client, hasher: h}
		err := check.ask(t.Context())
		if wrong == "" && err != nil || wrong != "" && (!errors.Is(err, admin.ErrWrongHashingSecret) || !strings.Contains(err.Error(), wrong)) {
			t.Errorf("%v, want %q", err, wrong)
		}
		if state := check.state(t.Context()); !errors.Is(state, err) {
			t.Errorf("the state is %v, and the answer %v", state, err)
		}
	}
	f(second, "") // empty
	publishCompany(t, broker, "c_1", first)
	publishCompany(t, broker, "c_2", second)
	f(first, "1 companies of directory.v1 are of another one, such as c_2")
	f(second, "such as c_1")
	f(rotating, "")
	publishCompany(t, broker, "c_1", rotating)
	f(second, "")
	f(first, "such as c_2")
	for key, value := range map[string][]byte{"c_2": nil, "c_3": []byte(`{"v":1,"companyId":"c_3"}`)} {
		if err := kafka.NewProducer(client).Publish(t.Context(), wire.TopicDirectory, []byte(wire.CompanyKeyPrefix+key), value); err != nil {
			t.Fatal(err)
		}
	}
	f(first, "")
	f(hasherOf(t, "x"), "1 companies")
}
