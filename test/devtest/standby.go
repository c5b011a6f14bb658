package devtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/dev/devstack"
)

// Standby is a streaming standby of the server that Postgres makes databases on.
type Standby struct {
	*devstack.Postgres
	t      testing.TB
	config devstack.PostgresConfig
}

// StartStandby copies the server of Postgres with its databases, and starts the copy as a streaming standby. It ends with the test. It
// follows soon, not at once.
func StartStandby(t testing.TB) *Standby {
	t.Helper()
	NeedsIntegration(t)
	NotOnCitus(t, "the cluster has no standby")
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	primary, err := server()
	if err != nil {
		t.Fatalf("devtest: postgres: %v", err)
	}
	// Not t.TempDir: it is inside of private directories, and the server may run as nobody.
	dir, err := os.MkdirTemp(inMemory(), "tributary-standby-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// The log stays for a standby that comes back.
	if err := execute(ctx, primary.DSN(), "alter system set wal_keep_size = '512MB'", "select pg_reload_conf()"); err != nil {
		t.Fatal(err)
	}
	s := &Standby{t: t, config: devstack.PostgresConfig{Dir: filepath.Join(dir, "postgres"), Settings: map[string]string{
		"primary_conninfo": Conninfo(primary.DSN()), "hot_standby": "on"}}}
	for name, value := range forTests {
		s.config.Settings[name] = value
	}
	if err := BaseBackup(ctx, primary.DSN(), s.config.Dir); err != nil {
		t.Fatalf("devtest: base backup: %v", err)
	}
	s.Start()
	t.Cleanup(func() { s.Stop() })
	return s
}

// Start starts it again, after Stop.
func (s *Standby) Start() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), startTimeout)
	defer cancel()
	started, err := devstack.StartPostgres(ctx, s.config)
	if err != nil {
		s.t.Fatalf("devtest: standby: %v", err)
	}
	s.Postgres = started
	to, err := url.Parse(started.DSN())
	if err != nil {
		s.t.Fatal(err)
	}
	if s.config.Port, err = strconv.Atoi(to.Port()); err != nil { // it comes back there
		s.t.Fatal(err)
	}
}

// Of returns the connection string of the same database on the standby.
func (s *Standby) Of(dsn string) string {
	of, err := url.Parse(dsn)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.DatabaseDSN(strings.TrimPrefix(of.Path, "/"))
}

// Execute runs statements on the standby.
func (s *Standby) Execute(statements ...string) {
	s.t.Helper()
	if err := execute(s.t.Context(), s.DSN(), statements...); err != nil {
		s.t.Fatal(err)
	}
}

// Conninfo is primary_conninfo for a server of this machine; the standby's name is "standby".
func Conninfo(dsn string) string {
	primary, err := url.Parse(dsn)
	if err != nil {
		return "" // devstack made it
	}
	password, _ := primary.User.Password()
	return fmt.Sprintf("host=127.0.0.1 port=%s user=%s password=%s application_name=standby", primary.Port(),
		primary.User.Username(), password)
}

// BaseBackup copies the data of a server of this machine while it works, by the server's own functions, to a directory that
// devstack.PostgresConfig may name: it starts as a standby where primary_conninfo is among its settings.
func BaseBackup(ctx context.Context, dsn, to string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var data string
	if err := conn.QueryRow(ctx, "show data_directory").Scan(&data); err != nil {
		return err
	}
	from := filepath.Dir(data)
	if _, err := conn.Exec(ctx, "select pg_backup_start('copy', true)"); err != nil {
		return err
	}
	if err := copyData(from, to); err != nil {
		return err
	}
	var label string
	if err := conn.QueryRow(ctx, "select labelfile from pg_backup_stop(false)").Scan(&label); err != nil {
		return err
	}
	for name, text := range map[string]string{"backup_label": label, "standby.signal": ""} {
		if err := os.WriteFile(filepath.Join(to, "data", name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	owner, err := os.Stat(data)
	if err != nil {
		return err
	}
	is := owner.Sys().(*syscall.Stat_t)
	return filepath.WalkDir(to, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(is.Uid), int(is.Gid)) //nolint:gosec // nobody else writes there
	})
}

// ofItsOwn are the files and directories that a copy does not take: the server's own documentation names them.
var ofItsOwn = []string{"data/postmaster.pid", "data/postmaster.opts", "data/pg_wal/", "data/pg_replslot/", "data/pg_stat_tmp/",
	"data/pg_notify/", "data/pg_serial/", "data/pg_snapshots/", "data/pg_subtrans/", "data/pg_dynshmem/"}

// copyData copies the data directory and the password of a server that works.
func copyData(from, to string) error {
	root, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		gone := errors.Is(err, fs.ErrNotExist) // the server removes files as it likes
		switch {
		case gone || entry != nil && name != "." && name != "password" && name != "data" && !strings.HasPrefix(name, "data/"):
			return nil
		case err != nil:
			return err
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		}
		for _, own := range ofItsOwn {
			if name == own || strings.HasSuffix(own, "/") && strings.HasPrefix(name, own) {
				return nil
			}
		}
		return copyFile(root, name, filepath.Join(to, name))
	})
}

func copyFile(root *os.Root, name, to string) error {
	source, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer source.Close()
	file, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, source)
	return errors.Join(err, file.Close())
}
