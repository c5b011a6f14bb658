package dev

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/tributary-io/tributary/dev/demo"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
)

// actor is named in the audit log as who made the demo store.
const actor = "cli"

const email = "demo@" + demo.Host

// ensureStore makes the store, its keys and the log-in if they do not exist.
// Each step looks first, so it continues where an earlier start was killed.
func (p *program) ensureStore(ctx context.Context) error {
	pool, err := postgres.Open(ctx, p.dsn)
	if err != nil {
		return err
	}
	defer pool.Close()
	db := merchant.New(pool)
	storeID, err := p.ensureCompanies(ctx, db)
	if err != nil {
		return err
	}
	for _, k := range []struct{ company, known, into *string }{
		{&p.info.CompanyID, &p.secrets.APIKey, &p.info.APIKey},
		{&p.info.SandboxCompanyID, &p.secrets.SandboxAPIKey, &p.info.SandboxAPIKey},
	} {
		if *k.known, err = p.ensureKey(ctx, db, *k.company, *k.known); err != nil {
			return err
		}
		*k.into = *k.known
		if err := p.secrets.save(); err != nil {
			return err
		}
	}
	return p.ensurePerson(ctx, db, storeID)
}

// ensureCompanies finds the store's two companies, or makes them, and sets the
// shop's present address.
func (p *program) ensureCompanies(ctx context.Context, db *merchant.Store) (storeID string, err error) {
	origins := []string{"https://" + demo.Host, p.info.StorefrontURL}
	shopHost, _, err := net.SplitHostPort(addressOf(p.listeners.storefront))
	if err != nil {
		return "", fmt.Errorf("the demo shop's address: %w", err)
	}
	hosts := []string{demo.Host, shopHost}
	if p.FakeShop != nil {
		origins = append(origins, p.FakeShop.URL)
	}
	companies, err := db.Companies(ctx, 2)
	if err != nil {
		return "", err
	}
	if len(companies) == 0 {
		store, err := db.CreateStore(ctx, commerce.NewStore{
			Name: "Loja Exemplo", Settings: commerce.Settings{Origins: origins, Hosts: hosts}, Actor: actor, Random: rand.Reader,
		})
		if err != nil {
			return "", err
		}
		companies = []commerce.Company{store.Live, store.Sandbox}
	} else if p.secrets.made {
		fmt.Fprintln(p.Out, "secrets.json was lost: new keys and a new hashing secret were made. Events from now on do not join those from "+
			"before by e-mail, phone or customer.")
	}
	for _, c := range companies {
		storeID = c.StoreID
		if c.Environment == commerce.Live {
			p.info.CompanyID = c.CompanyID
		} else {
			p.info.SandboxCompanyID = c.CompanyID
		}
		if !c.ArchivedAt.IsZero() {
			p.archived = append(p.archived, c.CompanyID)
			fmt.Fprintf(p.Out, "%s (%s) is archived: it takes no events and orders until `tributary company unarchive %s`.\n", c.CompanyID,
				c.Environment, c.CompanyID)
			continue
		}
		// The shop may have another port now. What `company set` added stays.
		if err := db.AddOrigins(ctx, c.CompanyID, origins, hosts, actor); err != nil {
			return "", err
		}
	}
	return storeID, nil
}

// ensureKey returns the known key if it is still valid and has every scope, else a
// new one. An archived company gets none.
func (p *program) ensureKey(ctx context.Context, db *merchant.Store, companyID, known string) (string, error) {
	if slices.Contains(p.archived, companyID) {
		return known, nil
	}
	if known != "" {
		key, err := db.APIKeyByHash(ctx, account.KeyHash(known))
		if err == nil && key.CompanyID == companyID && key.ActiveAt(time.Now()) && key.HasAll(account.Scopes) {
			return known, nil
		}
		if err != nil && !errors.Is(err, commerce.ErrNotFound) {
			return "", err
		}
		fmt.Fprintf(p.Out, "The API key of %s is no longer valid, or lacks a scope: a new one was made.\n", companyID)
	}
	_, text, err := db.CreateAPIKey(ctx, account.NewAPIKey{
		CompanyID: companyID, Name: "dev", Scopes: account.Scopes, Actor: actor, Random: rand.Reader,
	})
	return text, err
}

// ensurePerson makes the log-in, or a new password if the old one was lost.
func (p *program) ensurePerson(ctx context.Context, db *merchant.Store, storeID string) error {
	person, err := db.PersonByEmail(ctx, email)
	missing := errors.Is(err, commerce.ErrNotFound)
	if err != nil && !missing {
		return err
	}
	if missing || p.secrets.Password == "" {
		// Kept before its hash is stored: nobody would know it after a crash.
		p.secrets.Password = rand.Text()[:16]
		if err := p.secrets.save(); err != nil {
			return err
		}
		hash, err := p.services.HashPassword(p.secrets.Password)
		if err != nil {
			return err
		}
		if missing {
			person, err = db.CreatePerson(ctx, email, hash)
		} else {
			err = db.SetPassword(ctx, person.ID, hash)
		}
		if err != nil {
			return err
		}
	}
	p.info.DashboardEmail, p.info.DashboardPassword = email, p.secrets.Password
	return db.SetMembership(ctx, storeID, person.ID, account.RoleOwner)
}
