package dev

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Info is dev.json (docs/wire.md, "dev.json"): what a program needs to use a running dev.
type Info struct {
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

// secrets is secrets.json: what a start must find again, written as soon as
// each is made. dev.json is not it: that says "ready" and is rewritten.
type secrets struct {
	Hashing       string `json:"hashing_secret"`
	Token         string `json:"token_secret"`
	APIKey        string `json:"api_key,omitempty"`
	SandboxAPIKey string `json:"sandbox_api_key,omitempty"`
	Password      string `json:"dashboard_password,omitempty"`
	Seeded        bool   `json:"seeded,omitempty"`

	path string
	made bool // by this start
}

func openSecrets(path string) (*secrets, error) {
	s := &secrets{path: path}
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

func (s *secrets) save() error { return writeJSON(s.path, s) }

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
