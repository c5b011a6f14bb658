package upgrade

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tributary-io/tributary/test/prove"
)

// The version before. A clone without tags has its commit all the same.
const (
	formerTag    = "v0.1.0"
	formerCommit = "6ba1042f751cacc06d7ac3745af3a513a21b2e23"
)

// formerVersion is the tag's commit, and formerCommit where there is no tag. An error where both are there and differ.
func formerVersion(ctx context.Context) (string, error) {
	tagged, err := git(ctx, "rev-parse", "--verify", "--quiet", "refs/tags/"+formerTag+"^{commit}")
	if err == nil {
		if tagged != formerCommit {
			return "", fmt.Errorf("the tag %s is at %s, and formerCommit is %s", formerTag, tagged, formerCommit)
		}
		return formerCommit, nil
	}
	if _, err := git(ctx, "rev-parse", "--verify", "--quiet", formerCommit+"^{commit}"); err != nil {
		return "", fmt.Errorf("%w: this clone has no commit %s: git fetch --unshallow", prove.ErrNotHere, formerCommit)
	}
	return formerCommit, nil
}

func git(ctx context.Context, args ...string) (string, error) {
	output, err := exec.CommandContext(ctx, "git", args...).Output() //nolint:gosec // arguments of our own
	return strings.TrimSpace(string(output)), err
}

// buildFormer builds the version before from what is committed, and returns the program's path. It is kept with the tests' other
// tools: a commit and a version of Go give one program.
func buildFormer(ctx context.Context) (program string, err error) {
	commit, err := formerVersion(ctx)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	program = filepath.Join(cache, "tributary", "versions", formerTag+"-"+commit[:12]+"-"+runtime.Version())
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	root, err := git(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return "", fmt.Errorf("git: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(program), 0o700); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(filepath.Dir(program), "build-") // of one file system: the program is moved
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	archive, sources, built := filepath.Join(dir, "sources.tar"), filepath.Join(dir, "sources"), filepath.Join(dir, "tributary")
	if err := os.Mkdir(sources, 0o700); err != nil {
		return "", err
	}
	for _, step := range [][]string{
		{"git", "-C", root, "archive", "--output", archive, commit},
		{"tar", "-x", "-f", archive, "-C", sources},
		{"go", "build", "-C", sources, "-o", built, "./cmd/tributary"},
	} {
		if output, err := exec.CommandContext(ctx, step[0], step[1:]...).CombinedOutput(); err != nil { //nolint:gosec // likewise
			return "", fmt.Errorf("%v: %w: %s", step, err, output)
		}
	}
	return program, os.Rename(built, program)
}
