package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// others is the file with the licenses of third-party code, in each archive, package and image.
const others = "THIRD_PARTY_LICENSES"

// taken are the licenses (SPDX) that third-party code in a release may have: what they ask for is that their text goes along.
var taken = []string{"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0", "Unlicense", "Zlib"}

// byHand are modules whose license no list has: a person has read it. SPDX has no name for it either.
var byHand = map[string]string{
	"github.com/xi2/xz": "public domain",
}

// ofDocuments are licenses that a module has for its documents alone, which are in no program: a person has read it.
var ofDocuments = map[string]string{
	"github.com/modelcontextprotocol/go-sdk": "CC-BY-4.0",
}

// leastKnown is how many percent of a license's file must be of licenses that are known: the rest may be another.
const leastKnown = 75

// licenseFile is how modules name the files that go along.
var licenseFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|copyright|notice|patents)([-_.].*)?$`)

// A licensed module is third-party code in a program, and its licenses.
type licensed struct {
	name     string // path@version
	licenses string // such as MIT AND BSD-3-Clause
	texts    string // of all its files that go along
}

// licenses returns the third-party code that is linked into a package for a platform (env), ordered by name: Go's standard
// library first. Code under no license, or under one that is not taken, is an error.
func licenses(ctx context.Context, tree string, env []string, pkg string) ([]licensed, error) {
	golang := goTool(ctx, tree)
	goroot, err := golang(env, "env", "GOROOT", "GOVERSION")
	if err != nil {
		return nil, err
	}
	home, version, _ := strings.Cut(strings.TrimSpace(goroot), "\n")
	standard, err := readLicenses("stdlib@"+strings.TrimPrefix(version, "go"), home, nil)
	if err != nil {
		return nil, err
	}
	list, err := golang(env, "list", "-deps", "-f",
		"{{with .Module}}{{if not .Main}}{{.Path}}@{{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}", pkg)
	if err != nil {
		return nil, err
	}
	roots, packages := map[string]string{}, map[string][]string{}
	for line := range strings.Lines(list) {
		if fields := strings.Split(strings.TrimSpace(line), "\t"); len(fields) == 3 {
			roots[fields[0]] = fields[1]
			packages[fields[0]] = append(packages[fields[0]], fields[2])
		}
	}
	all := []licensed{standard}
	for _, name := range slices.Sorted(maps.Keys(roots)) {
		m, err := readLicenses(name, roots[name], packages[name])
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// readLicenses reads the files of a module's root, of packages (folders in it), and of the folders between.
func readLicenses(name, root string, packages []string) (licensed, error) {
	folders := map[string]bool{root: true}
	for _, dir := range packages {
		for ; strings.HasPrefix(dir, root+string(filepath.Separator)); dir = filepath.Dir(dir) {
			folders[dir] = true
		}
	}
	known, seen := map[string]bool{}, map[string]bool{}
	var texts strings.Builder
	for _, dir := range slices.Sorted(maps.Keys(folders)) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return licensed{}, err
		}
		for _, entry := range entries {
			if !entry.Type().IsRegular() || !licenseFile.MatchString(entry.Name()) || filepath.Ext(entry.Name()) == ".go" {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, entry.Name())) //nolint:gosec // of a module
			if err != nil {
				return licensed{}, err
			}
			if isLicense := !strings.HasPrefix(strings.ToLower(entry.Name()), "notice") && entry.Name() != "PATENTS"; isLicense {
				found := licensecheck.Scan(text)
				if len(found.Match) > 0 && found.Percent < leastKnown {
					return licensed{}, fmt.Errorf("%s: only %.0f %% of %s is a license that is known: read the rest", name,
						found.Percent, filepath.Join(dir, entry.Name()))
				}
				for _, match := range found.Match {
					known[match.ID] = true
				}
			}
			if text = bytes.TrimSpace(text); !seen[string(text)] {
				seen[string(text)] = true
				fmt.Fprintf(&texts, "%s\n\n", text)
			}
		}
	}
	path, _, _ := strings.Cut(name, "@")
	delete(known, ofDocuments[path])
	ids := slices.Sorted(maps.Keys(known))
	if license := byHand[path]; license != "" && len(ids) == 0 && texts.Len() > 0 {
		return licensed{name, license, texts.String()}, nil
	}
	if len(ids) == 0 {
		return licensed{}, fmt.Errorf("%s: no license is known in %s", name, root)
	}
	for _, id := range ids {
		if !slices.Contains(taken, id) {
			return licensed{}, fmt.Errorf("%s has the license %s: look whether a release may have it, then add it to those that are taken", name, id)
		}
	}
	return licensed{name, strings.Join(ids, " AND "), texts.String()}, nil
}

// told is the file of what is linked into a program.
func told(all []licensed) []byte {
	var text bytes.Buffer
	text.WriteString("Code of others that is in this program, and its licenses. Those of Tributary's own code are in LICENSE.\n\n")
	for _, m := range all {
		fmt.Fprintf(&text, "%s\n%s (%s)\n\n%s", strings.Repeat("=", 80), m.name, m.licenses, m.texts)
	}
	return text.Bytes()
}
