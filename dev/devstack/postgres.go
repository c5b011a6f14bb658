package devstack

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/dev/child"
)

// PostgresConfig says where and how the server runs. Only Dir is required.
type PostgresConfig struct {
	// Dir holds data/, password and postgres.log. It is made if it does not
	// exist, and belongs to nobody (uid 65534) if we are root.
	Dir  string
	Port int // on 127.0.0.1; 0 takes a free one
	// Settings are PostgreSQL's, by name. By default the server is durable (fsync
	// is on); tests may turn that off.
	Settings map[string]string
	// Repository is the URL of a Maven repository that has the server's binaries,
	// for a mirror. Empty: the one in which they are published.
	Repository string
	// Progress is called during slow steps; total is 0 where it is not known.
	Progress func(step string, done, total int64)
}

// Postgres is a running server. It is our direct child, so that the kernel shuts
// it down when we end, also by SIGKILL.
type Postgres struct {
	child    *child.Process
	port     int
	password string
	dir      string
}

// ErrPostgresMajor is returned for a data directory of another major version.
var ErrPostgresMajor = errors.New("the data directory is of another PostgreSQL major version")

const (
	superuser    = "postgres"
	startTimeout = 60 * time.Second // recovery after a crash included
	stopPatience = 20 * time.Second
	// orphanPatience is how long a server may take to shut down after the end of
	// its parent.
	orphanPatience = 20 * time.Second
)

// StartPostgres starts a PostgreSQL server, fetching its binaries and making
// its data directory the first time, and returns once it answers.
func StartPostgres(ctx context.Context, config PostgresConfig) (*Postgres, error) {
	if config.Progress == nil {
		config.Progress = func(string, int64, int64) {}
	}
	dir, err := filepath.Abs(config.Dir)
	if err != nil {
		return nil, fmt.Errorf("postgres directory: %w", err)
	}
	who, err := serverAccount()
	if err != nil {
		return nil, err
	}
	if !who.canReach(filepath.Join(dir, "data")) {
		return nil, fmt.Errorf("PostgreSQL runs as uid %d (nobody) when started by root, and cannot reach %s: use a directory outside of "+
			"private ones, such as /var/lib/tributary", who.uid, dir)
	}
	if err := who.ownDir(dir); err != nil {
		return nil, fmt.Errorf("postgres directory: %w", err)
	}
	binaries, err := binariesDir(who, cacheDirs())
	if err != nil {
		return nil, err
	}
	if err := fetchPostgres(ctx, binaries, config.Repository, config.Progress); err != nil {
		return nil, err
	}
	server := &Postgres{dir: dir}
	if err := server.initialize(ctx, binaries, who, config.Progress); err != nil {
		return nil, err
	}
	if err := releaseDataDir(ctx, filepath.Join(dir, "data")); err != nil {
		return nil, err
	}
	// A port found free may be taken by another before the server binds it.
	for attempt := 1; ; attempt++ {
		err := server.start(ctx, binaries, who, config)
		if err == nil {
			return server, nil
		}
		if config.Port != 0 || attempt == 5 || !errors.Is(err, errPortTaken) {
			return nil, err
		}
	}
}

// initialize makes the data directory, once. If an earlier start was killed
// while it made one, it begins again.
func (p *Postgres) initialize(ctx context.Context, binaries string, who account, progress func(string, int64, int64)) error {
	data, passwordFile := filepath.Join(p.dir, "data"), filepath.Join(p.dir, "password")
	version, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if err == nil {
		major, _, _ := strings.Cut(PostgresVersion, ".")
		if got := strings.TrimSpace(string(version)); got != major {
			return fmt.Errorf("%s: %w: it is of %s and this program runs %s", data, ErrPostgresMajor, got, major)
		}
		password, err := os.ReadFile(passwordFile)
		if err != nil {
			return fmt.Errorf("postgres password: %w", err)
		}
		p.password = strings.TrimSpace(string(password))
		return nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("postgres data directory: %w", err)
	}
	if _, err := os.Stat(data); err == nil {
		return fmt.Errorf("%s exists but holds no PostgreSQL database: move it away and start again", data)
	}
	progress("making the database", 0, 0)
	p.password = rand.Text()
	if err := os.WriteFile(passwordFile, []byte(p.password+"\n"), 0o600); err != nil {
		return fmt.Errorf("postgres password: %w", err)
	}
	if who.change {
		if err := os.Chown(passwordFile, who.uid, who.gid); err != nil {
			return fmt.Errorf("postgres password: %w", err)
		}
	}
	unfinished := data + ".unfinished"
	if err := os.RemoveAll(unfinished); err != nil {
		return fmt.Errorf("postgres data directory: %w", err)
	}
	var output bytes.Buffer
	// The built-in C.UTF-8 sorts in the same way on every machine.
	cmd := p.command(binaries, who, "initdb", "-D", unfinished, "-U", superuser, "-A", "scram-sha-256", "--pwfile", passwordFile,
		"-E", "UTF8", "--no-locale", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
	cmd.Stdout, cmd.Stderr = &output, &output
	initdb, err := child.Start(cmd, syscall.SIGKILL)
	if err != nil {
		return fmt.Errorf("initdb: %w", err)
	}
	select {
	case <-initdb.Done():
	case <-ctx.Done():
		initdb.Stop(0, syscall.SIGKILL)
		return fmt.Errorf("initdb: %w", ctx.Err())
	}
	if initdb.Err() != nil {
		return fmt.Errorf("initdb: %w: %s", initdb.Err(), lastLines(output.Bytes(), 3))
	}
	if err := os.Rename(unfinished, data); err != nil {
		return fmt.Errorf("postgres data directory: %w", err)
	}
	return nil
}

func (p *Postgres) command(binaries string, who account, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(binaries, "bin", name), args...)
	cmd.Dir = p.dir
	// Not our environment: variables such as PGDATA and PGPORT would change the server.
	cmd.Env = []string{"LC_ALL=C", "TZ=UTC", "PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who.credential()}
	return cmd
}

var errPortTaken = errors.New("the port is taken")

// start runs the server and waits until it answers a query.
func (p *Postgres) start(ctx context.Context, binaries string, who account, config PostgresConfig) error {
	port, err := choosePort(config.Port)
	if err != nil {
		return fmt.Errorf("postgres on 127.0.0.1:%d: %w", config.Port, err)
	}
	args := []string{"-D", filepath.Join(p.dir, "data"), "-p", strconv.Itoa(port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
		"-c", "timezone=UTC", "-c", "log_timezone=UTC"}
	for name, value := range config.Settings {
		args = append(args, "-c", name+"="+value)
	}
	logPath := filepath.Join(p.dir, "postgres.log")
	_ = os.Rename(logPath, logPath+".1") // there is none the first time
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("postgres log: %w", err)
	}
	defer log.Close()
	cmd := p.command(binaries, who, "postgres", args...)
	cmd.Stdout, cmd.Stderr = log, log
	// SIGINT is PostgreSQL's fast shutdown: sessions are ended, data is written.
	server, err := child.Start(cmd, syscall.SIGINT)
	if err != nil {
		return fmt.Errorf("start postgres: %w", err)
	}
	p.child, p.port = server, port
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, p.DSN())
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-server.Done():
			text, _ := os.ReadFile(logPath)
			if bytes.Contains(text, []byte("Address already in use")) {
				return fmt.Errorf("postgres on 127.0.0.1:%d: %w", port, errPortTaken)
			}
			ended := server.Err()
			if ended == nil {
				ended = errors.New("exit status 0")
			}
			return fmt.Errorf("postgres ended at start: %w: %s", ended, lastLines(text, 5))
		case <-ctx.Done():
			p.Stop()
			return fmt.Errorf("postgres did not answer: %w (last: %w)", ctx.Err(), err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// DSN returns the superuser's connection string to the database "postgres".
func (p *Postgres) DSN() string { return p.DatabaseDSN("postgres") }

// DatabaseDSN returns the superuser's connection string to a database.
func (p *Postgres) DatabaseDSN(database string) string {
	dsn := url.URL{
		Scheme: "postgres", User: url.UserPassword(superuser, p.password),
		Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)), Path: "/" + database, RawQuery: "sslmode=disable",
	}
	return dsn.String()
}

// CreateDatabase makes a database if it does not exist, and returns its
// connection string.
func (p *Postgres) CreateDatabase(ctx context.Context, name string) (dsn string, err error) {
	conn, err := pgx.Connect(ctx, p.DSN())
	if err != nil {
		return "", fmt.Errorf("create database %s: %w", name, err)
	}
	defer conn.Close(ctx)
	var there bool
	if err := conn.QueryRow(ctx, "select exists (select from pg_database where datname = $1)", name).Scan(&there); err != nil {
		return "", fmt.Errorf("create database %s: %w", name, err)
	}
	if !there {
		if _, err := conn.Exec(ctx, "create database "+pgx.Identifier{name}.Sanitize()); err != nil {
			return "", fmt.Errorf("create database %s: %w", name, err)
		}
	}
	return p.DatabaseDSN(name), nil
}

// Done is closed when the server has ended, by Stop or by itself.
func (p *Postgres) Done() <-chan struct{} { return p.child.Done() }

// Pid returns the server's process id.
func (p *Postgres) Pid() int { return p.child.Pid() }

// Stop ends the server: by a fast shutdown, and if that takes too long by SIGQUIT
// and SIGKILL. It may be called again.
func (p *Postgres) Stop() {
	p.child.Stop(stopPatience, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL)
}

// choosePort returns the wanted port, or a free one for 0.
func choosePort(wanted int) (int, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(wanted)))
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

func lastLines(text []byte, n int) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "; ")
}
