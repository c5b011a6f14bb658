package dev

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/tributary-io/tributary/internal/atomicfile"
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

// secrets is secrets.json: what the next start needs. Each secret is written as
// soon as it is made. They are not in dev.json, since that exists only while dev
// is ready.
type secrets struct {
	Hashing       string `json:"hashing_secret"`
	Token         string `json:"token_secret"`
	APIKey        string `json:"api_key,omitempty"`
	SandboxAPIKey string `json:"sandbox_api_key,omitempty"`
	Password      string `json:"dashboard_password,omitempty"`
	Seeded        bool   `json:"seeded,omitempty"`
	Shown         bool   `json:"shown,omitempty"` // what a first start prints was printed

	path string
	made bool // secrets.json was made by this start
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

// writeJSON replaces a private file.
func writeJSON(path string, value any) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(value)
	})
}
