package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard"
	"github.com/tributary-io/tributary/internal/commerce"
)

// devInfo is dev.json (docs/wire.md, "dev.json"): what a program needs to use a running dev.
type devInfo struct {
	EdgeURL           string `json:"edge_url"`
	AdminURL          string `json:"admin_url"`
	SandboxURL        string `json:"sandbox_url"`
	ShortURL          string `json:"short_url"`
	DashboardURL      string `json:"dashboard_url"`
	StorefrontURL     string `json:"storefront_url"`
	CompanyID         string `json:"company_id"`
	SandboxCompanyID  string `json:"sandbox_company_id"`
	APIKey            string `json:"api_key"`
	SandboxAPIKey     string `json:"sandbox_api_key"`
	DashboardEmail    string `json:"dashboard_email"`
	DashboardPassword string `json:"dashboard_password"`
	Kafka             string `json:"kafka"`
	Postgres          string `json:"postgres"`
}

// devSecrets is secrets.json: what a start must find again, written as soon as
// each is made. dev.json is not it: that says "ready" and is rewritten.
type devSecrets struct {
	Hashing       string `json:"hashing_secret"`
	Token         string `json:"token_secret"`
	APIKey        string `json:"api_key,omitempty"`
	SandboxAPIKey string `json:"sandbox_api_key,omitempty"`
	Password      string `json:"dashboard_password,omitempty"`
	Seeded        bool   `json:"seeded,omitempty"`

	path string
	made bool // by this start
}

func openSecrets(path string) (*devSecrets, error) {
	s := &devSecrets{path: path}
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		s.made = true
		s.Hashing, s.Token = rand.Text()+rand.Text(), rand.Text()+rand.Text()
		return s, s.save()
	case err != nil:
		return nil, fmt.Errorf("the data directory's secrets: %w", err)
	}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("%s is broken: move it away to have new keys made: %w", path, err)
	}
	return s, nil
}

func (s *devSecrets) save() error { return writeJSON(s.path, s) }

// writeJSON replaces a private file in one step, durably.
func writeJSON(path string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(f.Name()) // there is none after the rename
	_, err = f.Write(append(text, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

const demoEmail = "demo@" + demoHost

// ensureStore makes the store, its keys and the log-in, or finds them: each
// step looks first, so a start that was killed in between is carried on.
func (d *dev) ensureStore(ctx context.Context) error {
	db, err := d.openDB(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	storeID, err := d.ensureCompanies(ctx, db)
	if err != nil {
		return err
	}
	for _, k := range []struct{ company, known, into *string }{
		{&d.info.CompanyID, &d.secrets.APIKey, &d.info.APIKey},
		{&d.info.SandboxCompanyID, &d.secrets.SandboxAPIKey, &d.info.SandboxAPIKey},
	} {
		if *k.known, err = d.ensureKey(ctx, db, *k.company, *k.known); err != nil {
			return err
		}
		*k.into = *k.known
		if err := d.secrets.save(); err != nil {
			return err
		}
	}
	return d.ensurePerson(ctx, db, storeID)
}

// ensureCompanies finds the store's two companies, or makes them, and sets
// where the shop is today.
func (d *dev) ensureCompanies(ctx context.Context, db stores) (storeID string, err error) {
	origins := []string{"https://" + demoHost, d.info.StorefrontURL}
	shopHost, _, err := net.SplitHostPort(reached(d.listeners.storefront))
	if err != nil {
		return "", fmt.Errorf("the demo shop's address: %w", err)
	}
	hosts := []string{demoHost, shopHost}
	companies, err := db.Companies(ctx, 2)
	if err != nil {
		return "", err
	}
	if len(companies) == 0 {
		store, err := db.CreateStore(ctx, commerce.NewStore{
			Name: "Loja Exemplo", Origins: origins, Hosts: hosts, Actor: actor, KeyCheck: d.hasher.Check, Random: rand.Reader,
		})
		if err != nil {
			return "", err
		}
		companies = []commerce.Company{store.Live, store.Sandbox}
	} else if d.secrets.made {
		fmt.Fprintln(d.out, "secrets.json was lost: new keys and a new hashing secret were made. Events from now on do not join those from before by e-mail, phone or customer.")
	}
	for _, c := range companies {
		storeID = c.StoreID
		if c.Environment == commerce.Live {
			d.info.CompanyID = c.CompanyID
		} else {
			d.info.SandboxCompanyID = c.CompanyID
		}
		if fmt.Sprint(c.Origins, c.Hosts) != fmt.Sprint(origins, hosts) { // the shop has another port today
			if err := db.SetOrigins(ctx, c.CompanyID, origins, hosts, actor, d.hasher.Check); err != nil {
				return "", err
			}
		}
	}
	return storeID, nil
}

// ensureKey gives the known key if it is still good, else a new one.
func (d *dev) ensureKey(ctx context.Context, db stores, companyID, known string) (string, error) {
	if known != "" {
		key, err := db.APIKeyByHash(ctx, commerce.KeyHash(known))
		if err == nil && key.CompanyID == companyID && key.ActiveAt(time.Now()) {
			return known, nil
		}
		if err != nil && !errors.Is(err, commerce.ErrNotFound) {
			return "", err
		}
		fmt.Fprintf(d.out, "The API key of %s is no longer good: a new one was made.\n", companyID)
	}
	_, text, err := db.CreateAPIKey(ctx, commerce.NewAPIKey{
		CompanyID: companyID, Name: "dev", Scopes: commerce.Scopes, Actor: actor, Random: rand.Reader,
	})
	return text, err
}

// ensurePerson makes the log-in; one whose password was lost gets a new one.
func (d *dev) ensurePerson(ctx context.Context, db stores, storeID string) error {
	person, err := db.PersonByEmail(ctx, demoEmail)
	missing := errors.Is(err, commerce.ErrNotFound)
	if err != nil && !missing {
		return err
	}
	if missing || d.secrets.Password == "" {
		// The password is kept first: one that is stored but unknown would be useless.
		d.secrets.Password = rand.Text()[:16]
		if err := d.secrets.save(); err != nil {
			return err
		}
		hash, err := dashboard.HashPassword(d.secrets.Password)
		if err != nil {
			return err
		}
		if missing {
			person, err = db.CreatePerson(ctx, demoEmail, hash)
		} else {
			err = db.SetPassword(ctx, person.ID, hash)
		}
		if err != nil {
			return err
		}
	}
	d.info.DashboardEmail, d.info.DashboardPassword = demoEmail, d.secrets.Password
	return db.SetMembership(ctx, storeID, person.ID, commerce.RoleOwner)
}
