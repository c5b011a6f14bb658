package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is who the image's program runs as: nobody that a machine has.
const user = "65532"

// image writes a container image as a tarball for `docker load`, podman, skopeo and crane. It has the program, the
// certificates of public authorities and a user; time zones are inside the program. Only
// /var/lib/tributary, the edge's folder, need be writable.
func (r release) image(tree, out string, b binary) error {
	layer, err := r.layer(tree, b)
	if err != nil {
		return err
	}
	opened := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(layer)), nil }
	files, err := tarball.LayerFromOpener(opened, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err := mutate.Append(base, mutate.Addendum{Layer: files,
		History: v1.History{Created: v1.Time{Time: r.date}, CreatedBy: "make release"}})
	if err != nil {
		return err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = b.os, b.arch, v1.Time{Time: r.date}
	config.Config = v1.Config{
		User: user + ":" + user, Entrypoint: []string{"/tributary"}, Cmd: []string{"--help"}, WorkingDir: "/", StopSignal: "SIGTERM",
		Env: []string{"PATH=/", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
		Labels: map[string]string{
			"org.opencontainers.image.title":    "tributary",
			"org.opencontainers.image.source":   "https://github.com/tributary-io/tributary",
			"org.opencontainers.image.revision": r.commit,
			"org.opencontainers.image.version":  r.version,
			"org.opencontainers.image.created":  r.date.Format(time.RFC3339),
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	if img, err = mutate.ConfigFile(img, config); err != nil {
		return err
	}
	tag, err := name.NewTag("ghcr.io/tributary-io/tributary:" + r.number())
	if err != nil {
		return err
	}
	return tarball.WriteToFile(filepath.Join(out, r.name(b)+"_image.tar"), tag, img)
}

// layer returns the image's files as a tar.
func (r release) layer(tree string, b binary) ([]byte, error) {
	var content bytes.Buffer
	archive := tar.NewWriter(&content)
	for _, dir := range []string{"etc/", "etc/ssl/", "etc/ssl/certs/", "var/", "var/lib/"} {
		err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755, ModTime: r.date, Format: tar.FormatPAX})
		if err != nil {
			return nil, err
		}
	}
	// A volume that an engine mounts here is the user's.
	state := &tar.Header{Typeflag: tar.TypeDir, Name: "var/lib/tributary/", Mode: 0o700, Uid: 65532, Gid: 65532,
		ModTime: r.date, Format: tar.FormatPAX}
	if err := archive.WriteHeader(state); err != nil {
		return nil, err
	}
	program, err := os.ReadFile(b.path)
	if err != nil {
		return nil, err
	}
	license, err := os.ReadFile(filepath.Join(tree, "LICENSE")) //nolint:gosec // of the tree
	if err != nil {
		return nil, err
	}
	third, err := os.ReadFile(b.others())
	if err != nil {
		return nil, err
	}
	for _, file := range []packed{
		{"LICENSE", 0o644, license},
		{others, 0o644, third},
		{"etc/passwd", 0o644, fmt.Appendf(nil, "root:x:0:0::/:/sbin/nologin\ntributary:x:%[1]s:%[1]s::/:/sbin/nologin\n", user)},
		{"etc/group", 0o644, fmt.Appendf(nil, "root:x:0:\ntributary:x:%s:\n", user)},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, authorities()},
		{"tributary", 0o755, program},
	} {
		if err := r.add(archive, file); err != nil {
			return nil, err
		}
	}
	return content.Bytes(), archive.Close()
}

// authorities are the certificates that browsers trust, by the Go project's pinned module: the same on every machine.
// Those that are trusted for some names or for some time alone cannot be said in a file, and are left out.
func authorities() []byte {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes everything
		}
	}
	return text.Bytes()
}
