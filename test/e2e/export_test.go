package e2e

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/identity"
)

// exported are the files of a company's events and orders.
type exported struct {
	t        *testing.T
	dev      *dev
	dir, key string
}

// exportsOf exports events and orders.
func exportsOf(t *testing.T, d *dev) exported {
	t.Helper()
	key := filepath.Join(t.TempDir(), "export.key")
	if err := os.WriteFile(key, bytes.Repeat([]byte("e"), identity.MinSecret), 0o600); err != nil {
		t.Fatal(err)
	}
	e := exported{t, d, filepath.Join(t.TempDir(), "files"), key}
	e.export()
	return e
}

// export writes the files, or writes them anew.
func (e exported) export() {
	e.t.Helper()
	for _, kind := range []string{"events", "orders"} {
		if out, status := runToEnd(e.t, "export", kind, "--to", e.dir, "--format", "csv", "--export-key-file", e.key, "--company",
			e.dev.CompanyID, "--postgres", e.dev.Postgres); status != 0 {
			e.t.Fatalf("export %s: exit status %d\n%s", kind, status, out)
		}
	}
}

// digests are what may stand in the files for a browser and for keyed hashes.
func (e exported) digests(p *visitorOf, keys []string) (list []string) {
	e.t.Helper()
	hasher, err := identity.NewHasher(bytes.Repeat([]byte("e"), identity.MinSecret))
	if err != nil {
		e.t.Fatal(err)
	}
	digests := hasher.Export(e.dev.CompanyID)
	list = append(list, digests.Of("visitor", p.visitor), digests.Of("visitor", p.cookie[:36]))
	for _, key := range keys {
		for _, kind := range []string{"email", "phone", "customer", "cart"} {
			list = append(list, digests.Of(kind, key))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// has counts which of these texts the files have.
func (e exported) has(texts []string) (n int) {
	e.t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(e.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil {
		e.t.Fatal(err)
	}
	for _, text := range texts {
		if strings.Contains(all.String(), text) {
			n++
		}
	}
	return n
}
