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

// account is the user and group that the server runs as.
type account struct {
	uid, gid int
	change   bool // they are not our own: we are root
}

// serverAccount returns nobody's account if we are root, else our own.
func serverAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{uid: os.Geteuid(), gid: os.Getegid()}, nil
	}
	// initdb looks its user up by name.
	if _, err := user.LookupId(strconv.Itoa(nobodyUID)); err != nil {
		return account{}, fmt.Errorf("PostgreSQL cannot run as root, and uid %d (nobody) is not in /etc/passwd: run as an ordinary "+
			"user, or add it", nobodyUID)
	}
	return account{uid: nobodyUID, gid: nobodyGID, change: true}, nil
}

// credential returns what a child's SysProcAttr needs; nil for our own account.
func (a account) credential() *syscall.Credential {
	if !a.change {
		return nil
	}
	return &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
}

// canReach reports whether the account may enter every directory above path.
// Those that do not exist yet are made so that it may.
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
		case errors.Is(err, os.ErrNotExist): // it would be made with mode 0755
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

// ownDir makes dir, which only the account may enter.
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
