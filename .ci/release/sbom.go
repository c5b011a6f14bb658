package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	spdx "github.com/spdx/tools-golang/spdx/v2/v2_3"
)

// sbom writes which modules are in a binary, as the binary itself says, in SPDX 2.3 (JSON).
func (r release) sbom(out string, b binary) error {
	info, err := buildinfo.ReadFile(b.path)
	if err != nil {
		return err
	}
	main := module(0, info.Main.Path, r.version)
	main.PackageLicenseConcluded, main.PackageLicenseDeclared = "Apache-2.0", "Apache-2.0"
	main.PrimaryPackagePurpose = "APPLICATION"
	document := &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: r.name(b),
		DocumentNamespace: "https://github.com/tributary-io/tributary/releases/" + r.version + "/" + r.name(b) + "/" + r.commit,
		CreationInfo: &spdx.CreationInfo{
			Created:  r.date.Format(time.RFC3339),
			Creators: []common.Creator{{CreatorType: "Tool", Creator: "tributary-release"}},
		},
		Packages:      []*spdx.Package{main},
		Relationships: []*spdx.Relationship{relation("DOCUMENT", "DESCRIBES", main.PackageSPDXIdentifier)},
	}
	contain := func(p *spdx.Package) {
		if found := b.licenses[p.PackageName+"@"+p.PackageVersion]; found != "" && byHand[p.PackageName] == "" {
			p.PackageLicenseDeclared = found
		}
		document.Packages = append(document.Packages, p)
		document.Relationships = append(document.Relationships,
			relation(main.PackageSPDXIdentifier, "DEPENDS_ON", p.PackageSPDXIdentifier))
	}
	contain(module(1, "stdlib", strings.TrimPrefix(info.GoVersion, "go")))
	for i, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		p := module(i+2, m.Path, m.Version)
		if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(sum) == 32 {
			// Of the module's files and names, as go.sum has it.
			p.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: hex.EncodeToString(sum)}}
		}
		contain(p)
	}
	file, err := os.Create(filepath.Join(out, r.name(b)+".spdx.json")) //nolint:gosec // its name is our own
	if err != nil {
		return err
	}
	defer file.Close()
	if err := json.Write(document, file, json.Indent("  ")); err != nil {
		return err
	}
	return file.Close()
}

func module(i int, path, version string) *spdx.Package {
	return &spdx.Package{
		PackageSPDXIdentifier: common.ElementID(fmt.Sprintf("Package-%03d", i)), PackageName: path, PackageVersion: version,
		PackageDownloadLocation: "NOASSERTION", PackageLicenseConcluded: "NOASSERTION", PackageLicenseDeclared: "NOASSERTION",
		PackageCopyrightText: "NOASSERTION",
		PackageExternalReferences: []*spdx.PackageExternalReference{{
			Category: "PACKAGE-MANAGER", RefType: "purl", Locator: "pkg:golang/" + path + "@" + version,
		}},
	}
}

func relation(from common.ElementID, is string, to common.ElementID) *spdx.Relationship {
	return &spdx.Relationship{RefA: common.MakeDocElementID("", string(from)), Relationship: is, RefB: common.MakeDocElementID("", string(to))}
}
