package e2e

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/test/await"
)

// sharedDev is a `tributary dev` of several tests. None of them stops it, or looks at what is not of its own store.
type sharedDev struct {
	name string
	args []string
	once sync.Once
	dev  *dev // nil: it was not started, or is not ready
}

var (
	emptyDev = sharedDev{name: "empty", args: []string{"--empty"}}
	demoDev  = sharedDev{name: "demo"}
)

// directory holds what the tests share, until all of them have ended.
var directory string

// of is the shared dev with its own store. The first test that needs it starts it.
func (s *sharedDev) of(t *testing.T) *dev {
	t.Helper()
	s.once.Do(func() {
		dir := filepath.Join(directory, s.name)
		p, err := launch(binary(), nil, devArguments(dir, s.args...)...)
		if err != nil {
			t.Fatal(err)
		}
		s.dev = p.ready(t, dir)
	})
	if s.dev == nil {
		t.Fatalf("the shared dev %s did not start: the first test that needed it says why", s.name)
	}
	return s.dev
}

// stop ends the shared dev, if it was started, and says what went wrong with it.
func (s *sharedDev) stop(failed bool) (ok bool) {
	if s.dev == nil {
		return true
	}
	if failed {
		fmt.Printf("output of the shared dev %s:\n%s\n", s.name, tail(s.dev.output.String(), 8000))
	}
	s.dev.signal(syscall.SIGTERM)
	select {
	case <-s.dev.done:
	case <-time.After(await.Long):
		s.dev.signal(syscall.SIGKILL)
		<-s.dev.done
	}
	if s.dev.err != nil {
		fmt.Printf("the shared dev %s ended with %v\n", s.name, s.dev.err)
	}
	return s.dev.err == nil
}

// newShop is a store of the test's own in the shared empty dev, with keys and an owner for the dashboard.
func newShop(t *testing.T) *dev {
	t.Helper()
	shared := emptyDev.of(t)
	d := &dev{process: shared.process, devInfo: shared.devInfo, dir: shared.dir}
	db, err := postgres.Open(t.Context(), d.Postgres)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	shopURL, err := url.Parse(d.StorefrontURL)
	if err != nil {
		t.Fatal(err)
	}
	stores := merchant.New(db)
	made, err := stores.CreateStore(t.Context(), commerce.NewStore{Name: t.Name(), Actor: "test", Random: rand.Reader,
		Settings: commerce.Settings{Origins: []string{"https://loja.example.com", d.StorefrontURL},
			Hosts: []string{"loja.example.com", shopURL.Hostname()}}})
	if err != nil {
		t.Fatal(err)
	}
	d.CompanyID, d.SandboxCompanyID = made.Live.CompanyID, made.Sandbox.CompanyID
	for company, key := range map[string]*string{d.CompanyID: &d.APIKey, d.SandboxCompanyID: &d.SandboxAPIKey} {
		_, *key, err = stores.CreateAPIKey(t.Context(), account.NewAPIKey{
			CompanyID: company, Name: "test", Scopes: account.Scopes, Actor: "test", Random: rand.Reader,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var n int
	d.DashboardEmail = strings.ToLower(t.Name()) + "@example.com" // with the password of dev's person
	d.query(t, []any{&n}, `
		with p as (insert into person (person_id, email, password_hash)
				select gen_random_uuid(), $1, password_hash from person where email = $2 returning person_id),
			m as (insert into membership (store_id, person_id, role) select $3, person_id, 'owner' from p returning 1)
		select count(*) from m`, d.DashboardEmail, shared.DashboardEmail, made.StoreID)
	if n != 1 {
		t.Fatalf("%d owners were made", n)
	}
	for _, company := range []string{d.CompanyID, d.SandboxCompanyID} { // the edge learns of them a moment later
		var got answer
		await.Until(t, await.Long, func() bool {
			got, err = call(t.Context(), http.MethodPost, d.EdgeURL+"/v1/known", "", map[string]any{"companyId": company})
			return err == nil && got.status == http.StatusOK
		}, func() string {
			return fmt.Sprintf("the edge does not know %s: %d %s", company, got.status, got.body)
		})
	}
	return d
}

// makeDirectory makes a directory that an unprivileged PostgreSQL can reach.
func makeDirectory() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "tributary-e2e"); err == nil {
		err = os.Chmod(dir, 0o755)
	}
	return dir, err
}
