package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// A binary is a program for one platform, at path, and the licenses of its modules by path@version. Their texts are in
// a file beside it.
type binary struct {
	os, arch, path string
	licenses       map[string]string
}

// platforms are Linux for servers and macOS for developers.
var platforms = []binary{
	{os: "linux", arch: "amd64"}, {os: "linux", arch: "arm64"},
	{os: "darwin", arch: "arm64"}, {os: "darwin", arch: "amd64"},
}

// goTool runs the Go tool in tree, without cgo and with what go.mod says, and returns what it printed.
func goTool(ctx context.Context, tree string) func(env []string, args ...string) (string, error) {
	return func(env []string, args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // own arguments
		cmd.Dir = tree
		cmd.Env = append(append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off", "CGO_ENABLED=0"), env...)
		var problems bytes.Buffer
		cmd.Stderr = &problems
		text, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("go %v: %w\n%s%s", args, err, text, problems.String())
		}
		return string(text), nil
	}
}

// binaries builds the browser SDK and its npm packages (tree/npm), then the program with it inside for each platform, statically
// linked, and what it says of its command line (tree/manual).
func (r release) binaries(ctx context.Context, tree, out string) (made []binary, err error) {
	golang := goTool(ctx, tree)
	if _, err := golang(nil, "run", "-trimpath", "./sdk-js/build", "-npm", filepath.Join(tree, "npm")); err != nil {
		return nil, err
	}
	linked := fmt.Sprintf("-s -w -X main.releaseVersion=%s -X main.releaseCommit=%s -X main.releaseDate=%s",
		r.version, r.commit, r.date.Format(time.RFC3339))
	for _, b := range platforms {
		b.path = filepath.Join(out, b.os+"_"+b.arch, "tributary")
		env := []string{"GOOS=" + b.os, "GOARCH=" + b.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT="}
		if _, err := golang(env, "build", "-trimpath", "-buildvcs=false", "-ldflags", linked, "-o", b.path, "./cmd/tributary"); err != nil {
			return nil, err
		}
		all, err := licenses(ctx, tree, env, "./cmd/tributary")
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(b.others(), told(all), 0o644); err != nil { //nolint:gosec // for everybody to read
			return nil, err
		}
		b.licenses = map[string]string{}
		for _, m := range all {
			b.licenses[m.name] = m.licenses
		}
		fmt.Printf("built %s/%s\n", b.os, b.arch)
		made = append(made, b)
	}
	_, err = golang([]string{"GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT="}, "run", "-trimpath", "-buildvcs=false", "-ldflags", linked,
		"./cmd/tributary", "manual", manual(tree))
	return made, err
}

// others is the path of the file with the licenses of third-party code in the program.
func (b binary) others() string { return filepath.Join(filepath.Dir(b.path), others) }

// manual is where the manual pages and completions are.
func manual(tree string) string { return filepath.Join(tree, "manual") }

// npm writes the packages of the browser's SDK and of the admin API as `npm pack` names them, with the release's version.
func (r release) npm(ctx context.Context, tree, out string) error {
	license, err := os.ReadFile(filepath.Join(tree, "LICENSE")) //nolint:gosec // of the tree
	if err != nil {
		return err
	}
	core, err := licenses(ctx, tree, []string{"GOOS=wasip1", "GOARCH=wasm"}, "./wasm")
	if err != nil {
		return err
	}
	for _, name := range []string{"sdk", "core-wasm", "admin"} {
		dir := os.DirFS(filepath.Join(tree, "npm", name))
		files := []packed{{"LICENSE", 0o644, license}}
		if name == "core-wasm" {
			files = append(files, packed{others, 0o644, told(core)})
		}
		err := fs.WalkDir(dir, ".", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := fs.ReadFile(dir, path)
			if path == "package.json" {
				text = bytes.Replace(text, []byte(`"version": "0.1.0"`), []byte(`"version": "`+r.number()+`"`), 1)
			}
			files = append(files, packed{path, 0o644, text})
			return err
		})
		if err != nil {
			return err
		}
		if err := r.pack(filepath.Join(out, "tributary-io-"+name+"-"+r.number()+".tgz"), "package", files); err != nil {
			return err
		}
	}
	return nil
}

// name begins the names of a binary's files.
func (r release) name(b binary) string { return "tributary_" + r.number() + "_" + b.os + "_" + b.arch }

// A packed file has its name in an archive, and its content.
type packed struct {
	name    string
	mode    int64
	content []byte
}

// archive writes a .tar.gz with the program and what a person wants to read beside it.
func (r release) archive(tree, out string, b binary) error {
	program, err := os.ReadFile(b.path)
	if err != nil {
		return err
	}
	files := []packed{{"tributary", 0o755, program}}
	for _, path := range []string{filepath.Join(tree, "LICENSE"), filepath.Join(tree, "README.md"), filepath.Join(tree, "CHANGELOG.md"),
		b.others()} {
		text, err := os.ReadFile(path) //nolint:gosec // of the tree
		if err != nil {
			return err
		}
		files = append(files, packed{filepath.Base(path), 0o644, text})
	}
	return r.pack(filepath.Join(out, r.name(b)+".tar.gz"), r.name(b), files)
}

// folders writes the chart as Helm packs it, with the release's version, and what compose.yaml needs.
func (r release) folders(tree, out string) error {
	deploy := filepath.Join(tree, "deploy")
	read := func(dir string, names ...string) (files []packed, err error) {
		for _, name := range names {
			text, err := os.ReadFile(filepath.Join(dir, name)) //nolint:gosec // of the tree
			if err != nil {
				return nil, err
			}
			files = append(files, packed{filepath.ToSlash(name), 0o644, text})
		}
		return files, nil
	}
	templates, err := filepath.Glob(filepath.Join(deploy, "helm", "templates", "*"))
	if err != nil {
		return err
	}
	names := []string{"Chart.yaml", "values.yaml", "values.schema.json"} // Helm wants the first in front
	for _, path := range templates {
		names = append(names, filepath.Join("templates", filepath.Base(path)))
	}
	chart, err := read(filepath.Join(deploy, "helm"), names...)
	if err != nil {
		return err
	}
	chart[0].content = bytes.ReplaceAll(chart[0].content, []byte("ersion: 0.0.0\n"), []byte("ersion: "+r.number()+"\n"))
	compose, err := read(deploy, "compose.yaml", filepath.Join("prometheus", "alerts.yml"), filepath.Join("grafana", "tributary.json"))
	if err != nil {
		return err
	}
	return errors.Join(r.pack(filepath.Join(out, "tributary-"+r.number()+".tgz"), "tributary", chart),
		r.pack(filepath.Join(out, "tributary_"+r.number()+"_compose.tar.gz"), "tributary_"+r.number()+"_compose", compose))
}

// pack writes a .tar.gz of files below a folder, all root's, with the date of the commit.
func (r release) pack(path, folder string, files []packed) error {
	var content bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&content, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(zipped)
	for _, file := range files {
		file.name = folder + "/" + file.name
		if err := r.add(archive, file); err != nil {
			return err
		}
	}
	if err := errors.Join(archive.Close(), zipped.Close()); err != nil {
		return err
	}
	return os.WriteFile(path, content.Bytes(), 0o644) //nolint:gosec // for everybody to read
}

// add writes a file to a tar as root's, with the date of the commit.
func (r release) add(archive *tar.Writer, file packed) error {
	header := &tar.Header{Name: file.name, Mode: file.mode, Size: int64(len(file.content)), ModTime: r.date, Format: tar.FormatPAX}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err := archive.Write(file.content)
	return err
}

// sums writes SHA256SUMS, as sha256sum -c reads it, of all files of out.
func sums(out string) error {
	files, err := os.ReadDir(out)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	for _, file := range files { // sorted by name
		opened, err := os.Open(filepath.Join(out, file.Name())) //nolint:gosec // just written
		if err != nil {
			return err
		}
		sum := sha256.New()
		_, err = io.Copy(sum, opened)
		if err = errors.Join(err, opened.Close()); err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sum.Sum(nil), file.Name())
	}
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), text.Bytes(), 0o644) //nolint:gosec // for everybody to read
}
