package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // for nfpm.Get
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // for nfpm.Get
)

var services = []string{"edge", "admin", "processor", "connect"}

// settingsFiles are those of /etc/tributary. The first two are several services'.
var settingsFiles = []string{"kafka.env", "postgres.env", "edge.env", "admin.env", "processor.env", "connect.env"}

// zshFolder is where the shell zsh of each system looks for completions.
var zshFolder = map[string]string{"deb": "/usr/share/zsh/vendor-completions/", "rpm": "/usr/share/zsh/site-functions/"}

// packages writes a .deb and an .rpm: the program, a systemd unit for each service, and their settings, which an
// upgrade leaves as they are.
func (r release) packages(tree, out string, b binary) error {
	for _, format := range []string{"deb", "rpm"} {
		packager, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		// A packager changes what it is given.
		info, err := r.info(tree, b, format)
		if err != nil {
			return err
		}
		info = nfpm.WithDefaults(info)
		if err := nfpm.PrepareForPackager(info, format); err != nil {
			return err
		}
		file, err := os.Create(filepath.Join(out, packager.ConventionalFileName(info))) //nolint:gosec // its name is our own
		if err != nil {
			return err
		}
		if err := errors.Join(packager.Package(info, file), file.Close()); err != nil {
			return err
		}
	}
	return nil
}

func (r release) info(tree string, b binary, format string) (*nfpm.Info, error) {
	deploy := func(name ...string) string { return filepath.Join(append([]string{tree, "deploy"}, name...)...) }
	file := func(from, to string, mode os.FileMode, kind string) *files.Content {
		return &files.Content{Source: from, Destination: to, Type: kind, FileInfo: &files.ContentFileInfo{Mode: mode, MTime: r.date}}
	}
	settings := &files.Content{Destination: "/etc/tributary", Type: files.TypeDir,
		FileInfo: &files.ContentFileInfo{Mode: 0o750, Group: "tributary", MTime: r.date}}
	contents := files.Contents{
		file(b.path, "/usr/bin/tributary", 0o755, ""),
		file(filepath.Join(tree, "LICENSE"), "/usr/share/doc/tributary/copyright", 0o644, ""),
		file(b.others(), "/usr/share/doc/tributary/"+others, 0o644, ""),
		file(deploy("prometheus", "alerts.yml"), "/usr/share/tributary/prometheus/alerts.yml", 0o644, ""),
		file(deploy("grafana", "tributary.json"), "/usr/share/tributary/grafana/tributary.json", 0o644, ""),
		settings,
	}
	for _, name := range settingsFiles {
		contents = append(contents, file(deploy("systemd", name), "/etc/tributary/"+name, 0o600, files.TypeConfigNoReplace))
	}
	pages, err := filepath.Glob(filepath.Join(manual(tree), "man1", "*.gz"))
	if err != nil {
		return nil, err
	}
	if len(pages) == 0 {
		return nil, fmt.Errorf("no manual pages in %s", manual(tree))
	}
	for _, page := range pages {
		contents = append(contents, file(page, "/usr/share/man/man1/"+filepath.Base(page), 0o644, ""))
	}
	for _, to := range []string{"/usr/share/bash-completion/completions/tributary.bash", zshFolder[format] + "_tributary",
		"/usr/share/fish/vendor_completions.d/tributary.fish"} {
		from := filepath.Join(manual(tree), filepath.Base(to))
		contents = append(contents, file(from, strings.TrimSuffix(to, ".bash"), 0o644, "")) // bash looks for the command's own name
	}
	for _, service := range services {
		contents = append(contents,
			file(deploy("systemd", "tributary-"+service+".service"), "/usr/lib/systemd/system/tributary-"+service+".service", 0o644, ""))
	}
	info := &nfpm.Info{
		Name: "tributary", Arch: b.arch, Platform: "linux", Version: r.number(), Release: "1", MTime: r.date,
		Section: "net", Priority: "optional", License: "Apache-2.0", Homepage: "https://github.com/tributary-io/tributary",
		Maintainer:  "Tributary's maintainers <tributary-io@users.noreply.github.com>",
		Description: "Which influencer, coupon or link brought each sale, to the cent and with proof",
		Overridables: nfpm.Overridables{
			Contents: contents,
			Depends:  []string{"ca-certificates", map[string]string{"deb": "passwd", "rpm": "shadow-utils"}[format]},
			Scripts: nfpm.Scripts{PreInstall: deploy("package", "preinst.sh"), PostInstall: deploy("package", "postinst.sh"),
				PreRemove: deploy("package", "prerm.sh")},
			RPM: nfpm.RPM{BuildHost: "release"},
		},
	}
	return info, nil
}
