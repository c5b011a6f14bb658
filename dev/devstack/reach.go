package devstack

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// systemState holds directories that must not be inside of private ones.
const systemState = "/var/lib/tributary"

// ReachableDir returns a directory for PostgresConfig.Dir: dir itself if the
// server's account can reach it. It cannot when we are root and dir is inside of
// a private directory, such as root's home: then dir becomes a symbolic link to
// a new directory below /var/lib/tributary, which elsewhere names too.
func ReachableDir(dir string) (reachable, elsewhere string, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", "", err
	}
	target, err := os.Readlink(dir)
	if err == nil {
		return target, target, nil
	}
	who, err := serverAccount()
	if err != nil {
		return "", "", err
	}
	if who.canReach(dir) {
		return dir, "", nil
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		return "", "", fmt.Errorf("PostgreSQL runs as uid %d (nobody), and can no longer reach %s: make the directories above it passable "+
			"(chmod a+x)", who.uid, dir)
	}
	target = filepath.Join(systemState, strings.ToLower(rand.Text()[:12]), "postgres")
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return "", "", fmt.Errorf("PostgreSQL runs as uid %d (nobody), and cannot reach %s: %w", who.uid, dir, err)
	}
	if err := os.Symlink(target, dir); err != nil {
		return "", "", err
	}
	return target, target, nil
}
