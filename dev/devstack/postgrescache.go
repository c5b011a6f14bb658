package devstack

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// cacheDirs are the directories that may keep the binaries, best first: the
// user's cache, and the system's for when the server's account cannot reach
// that (a home of mode 0700). A temporary directory is none of them: programs
// are run from here, and there everybody may write.
func cacheDirs() []string {
	var dirs []string
	if cache, err := os.UserCacheDir(); err == nil {
		dirs = append(dirs, filepath.Join(cache, "tributary"))
	}
	return append(dirs, "/var/cache/tributary")
}

// binariesDir returns where the unpacked binaries are kept: a directory below
// the first of candidates that the server's account can reach and that nobody
// but root and we can change.
func binariesDir(who account, candidates []string) (string, error) {
	var refused []error
	for _, dir := range candidates {
		target := filepath.Join(dir, "postgres-"+PostgresVersion)
		if !who.canReach(filepath.Join(target, "bin")) {
			refused = append(refused, fmt.Errorf("uid %d cannot reach %s", who.uid, dir))
			continue
		}
		err := os.MkdirAll(dir, 0o755)
		if err == nil {
			err = onlyOursToChange(target)
		}
		if err != nil {
			refused = append(refused, err)
			continue
		}
		return target, nil
	}
	return "", fmt.Errorf("no directory can keep PostgreSQL's binaries; $XDG_CACHE_HOME may name another: %w", errors.Join(refused...))
}

// onlyOursToChange checks that nobody but root and we can change dir or put
// another in its place. dir need not exist, its parent must.
func onlyOursToChange(dir string) error {
	parent, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if err != nil {
		return err
	}
	for path := filepath.Join(parent, filepath.Base(dir)); ; path = filepath.Dir(path) {
		info, err := os.Lstat(path)
		if err == nil {
			// Above our own directories, a user's own group and a sticky
			// directory such as /tmp are the system's business.
			err = refuseForeign(path, info, len(path) < len(parent))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if path == filepath.Dir(path) {
			return nil
		}
	}
}

func refuseForeign(path string, info fs.FileInfo, above bool) error {
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", path)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid != 0 && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to uid %d", path, stat.Uid)
	}
	writable := fs.FileMode(0o022)
	switch {
	case above && info.Mode()&fs.ModeSticky != 0:
		writable = 0
	case above:
		writable = 0o002
	}
	if info.Mode()&writable != 0 {
		return fmt.Errorf("%s may be changed by others (mode %o)", path, info.Mode().Perm())
	}
	return nil
}

// treeSHA256 returns the SHA-256 over a directory's files and links in the
// order of their names: each name with the SHA-256 of its content, or with
// where it points.
func treeSHA256(dir string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	tree := sha256.New()
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return nil
		case entry.Type() == fs.ModeSymlink:
			target, err := root.Readlink(name)
			fmt.Fprintf(tree, "%s\x00link\x00%s\x00", name, target)
			return err
		case entry.Type() != 0:
			return fmt.Errorf("%s is neither a file nor a link", name)
		}
		file, err := root.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		content := sha256.New()
		if _, err := io.Copy(content, file); err != nil {
			return err
		}
		fmt.Fprintf(tree, "%s\x00%x\x00", name, content.Sum(nil))
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("read %s: %w", dir, err)
	}
	return hex.EncodeToString(tree.Sum(nil)), nil
}
