package devstack

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// PostgreSQL refuses to run as root; then it runs as nobody.
const (
	nobodyUID = 65534
	nobodyGID = 65534
)

// account is who the server runs as.
type account struct {
	uid, gid int
	change   bool // we are root and become someone else
}

// serverAccount is nobody when we are root, else ourselves.
func serverAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{uid: os.Geteuid(), gid: os.Getegid()}, nil
	}
	// initdb looks its user up by name.
	if _, err := user.LookupId(strconv.Itoa(nobodyUID)); err != nil {
		return account{}, fmt.Errorf("PostgreSQL cannot run as root, and uid %d (nobody) is not in /etc/passwd: run as an ordinary user, or add it", nobodyUID)
	}
	return account{uid: nobodyUID, gid: nobodyGID, change: true}, nil
}

// credential is for a child's SysProcAttr; nil leaves the child as we are.
func (a account) credential() *syscall.Credential {
	if !a.change {
		return nil
	}
	return &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
}

// canReach tells whether the account may pass through every directory above
// path, which need not exist yet.
func (a account) canReach(path string) bool {
	if !a.change {
		return true
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return false
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		switch {
		case errors.Is(err, os.ErrNotExist): // we would make it passable
		case err != nil:
			return false
		case !a.mayPass(info):
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}

func (a account) mayPass(info os.FileInfo) bool {
	mode := info.Mode().Perm()
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		switch {
		case int(stat.Uid) == a.uid:
			return mode&0o100 != 0
		case int(stat.Gid) == a.gid:
			return mode&0o010 != 0
		}
	}
	return mode&0o001 != 0
}

// ownDir makes dir, private to the account.
func (a account) ownDir(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if a.change {
		if err := os.Chown(dir, a.uid, a.gid); err != nil {
			return err
		}
	}
	return os.Chmod(dir, 0o700)
}
