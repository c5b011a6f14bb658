// Command release makes what a release consists of, from what is committed: static
// binaries, archives, packages for Debian and Red Hat, container images, the Helm chart,
// compose.yaml with what it needs, an SBOM for each binary, and SHA-256 sums of them all. The same commit gives the same bytes in
// any folder, with the same version of Go. It needs git and Go; no Docker.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := flag.String("root", ".", "the repository")
	out := flag.String("out", "dist", "folder for what is made; that of a former release is emptied first")
	flag.Parse()
	if err := run(ctx, *root, *out); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run makes a release of the commit that is checked out in root. What is not committed is not in it.
func run(ctx context.Context, root, out string) error {
	r, err := newRelease(ctx, root)
	if err != nil {
		return err
	}
	tree, err := os.MkdirTemp("", "tributary-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tree)
	if err := r.export(ctx, root, tree); err != nil {
		return err
	}
	if err := emptied(root, out); err != nil {
		return err
	}
	return r.make(ctx, tree, out)
}

// emptied makes the folder out, or empties it. Only a former release is removed: a folder with SHA256SUMS, in which root is not.
func emptied(root, out string) error {
	rooted, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	given, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	if inside, err := filepath.Rel(given, rooted); err != nil || filepath.IsLocal(inside) {
		return fmt.Errorf("-out %s: the repository is in it", out)
	}
	files, err := os.ReadDir(given)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if len(files) > 0 {
		if _, err := os.Stat(filepath.Join(given, "SHA256SUMS")); err != nil {
			return fmt.Errorf("-out %s has files and is no former release: give a new folder", out)
		}
	}
	if err := os.RemoveAll(given); err != nil {
		return err
	}
	return os.MkdirAll(given, 0o755) //nolint:gosec // for everybody to read
}

// A release is one commit's.
type release struct {
	version string // with its v
	commit  string
	date    time.Time // of the commit, in UTC
}

// plain is how tags of releases look.
var plain = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+$`)

// number is the version without its v, as packages have it.
func (r release) number() string { return strings.TrimPrefix(r.version, "v") }

// newRelease reads what is checked out. A commit with no tag v1.2.3 is a version 0.0.0 with date and commit.
func newRelease(ctx context.Context, root string) (release, error) {
	ask := func(args ...string) (string, error) {
		answer, err := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...).Output() //nolint:gosec // own arguments
		if err != nil {
			return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
		}
		return strings.TrimSpace(string(answer)), nil
	}
	commit, err := ask("rev-parse", "HEAD")
	if err != nil {
		return release{}, err
	}
	stamp, err := ask("show", "-s", "--format=%cI", "HEAD")
	if err != nil {
		return release{}, err
	}
	date, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		return release{}, fmt.Errorf("date of the commit: %w", err)
	}
	date = date.UTC()
	version, err := ask("describe", "--tags", "--exact-match", "--match", "v[0-9]*", "HEAD")
	if err != nil {
		version = fmt.Sprintf("v0.0.0-%s-%s", date.Format("20060102150405"), commit[:12])
	} else if !plain.MatchString(version) {
		return release{}, fmt.Errorf("tag %s: only versions such as v1.2.3 are released; packages and Helm order others differently", version)
	}
	return release{version, commit, date}, nil
}

// export writes the files of the commit to tree.
func (r release) export(ctx context.Context, root, tree string) error {
	archive := filepath.Join(tree, ".tree.tar")
	for _, args := range [][]string{
		{"git", "-C", root, "archive", "-o", archive, r.commit},
		{"tar", "-x", "-f", archive, "-C", tree},
	} {
		if text, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil { //nolint:gosec // own arguments
			return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, text)
		}
	}
	return os.Remove(archive)
}

// make builds everything from tree into out.
func (r release) make(ctx context.Context, tree, out string) error {
	binaries, err := r.binaries(ctx, tree, filepath.Join(tree, "bin"))
	if err != nil {
		return err
	}
	if err := errors.Join(r.folders(tree, out), r.npm(ctx, tree, out)); err != nil {
		return err
	}
	for _, b := range binaries {
		var errs []error
		errs = append(errs, r.archive(tree, out, b), r.sbom(out, b))
		if b.os == "linux" {
			errs = append(errs, r.packages(tree, out, b), r.image(tree, out, b))
		}
		if err := errors.Join(errs...); err != nil {
			return fmt.Errorf("%s/%s: %w", b.os, b.arch, err)
		}
	}
	return sums(out)
}
