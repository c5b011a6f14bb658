package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/dev/devstack"
	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/test/devtest"
	"github.com/tributary-io/tributary/test/kafkadist"
	"github.com/tributary-io/tributary/test/prove/edgefault"
)

// database is a PostgreSQL with a streaming standby, each on a small disk of its own, behind a proxy that leads to the one
// that takes writes. A commit waits until the standby has applied it (synchronous_commit remote_apply): nothing that was
// acknowledged is lost at a failover.
type database struct {
	dir     string
	proxy   *edgefault.Proxy
	primary *node
	standby *node // nil: there is none now
	made    int   // nodes so far
}

// node is one server.
type node struct {
	*devstack.Postgres // nil: it was never started
	config             devstack.PostgresConfig
	disk               func() error // takes its disk away
}

const (
	databaseName = "prove"
	// diskBytes is each server's disk.
	diskBytes = 1 << 30
	// maxConnections of each server; the services' pools together take up to half.
	maxConnections = "100"
)

// newDatabase starts a primary and its standby. Call close when done.
func newDatabase(ctx context.Context, dir string) (d *database, err error) {
	d = &database{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	if d.proxy, err = edgefault.NewProxy(); err != nil {
		return d, err
	}
	if d.primary, err = d.newNode(); err != nil {
		return d, err
	}
	if err := d.primary.start(ctx); err != nil {
		return d, err
	}
	if _, err := d.primary.CreateDatabase(ctx, databaseName); err != nil {
		return d, err
	}
	d.proxy.Serve(ctx, d.primary.addr())
	return d, d.addStandby(ctx)
}

// newNode chooses a port and makes the disk of one more server.
func (d *database) newNode() (n *node, err error) {
	d.made++
	listener, err := kafkadist.ListenLow()
	if err != nil {
		return nil, err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil { // the server listens there
		return nil, err
	}
	dir := filepath.Join(d.dir, "postgres"+strconv.Itoa(d.made))
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // PostgreSQL's account reads below it
		return nil, err
	}
	disk, err := edgefault.SmallDisk(dir, diskBytes)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // likewise
		return nil, errors.Join(err, disk())
	}
	return &node{disk: disk, config: devstack.PostgresConfig{Dir: dir, Port: port, Repository: os.Getenv("TRIBUTARY_POSTGRES_REPOSITORY"),
		Settings: map[string]string{"max_connections": maxConnections, "shared_buffers": "64MB", "max_wal_size": "192MB",
			"wal_keep_size": "128MB", "hot_standby": "on", "wal_receiver_timeout": "10s", "wal_sender_timeout": "10s"},
	}}, nil
}

// start starts it, or starts it again.
func (n *node) start(ctx context.Context) error {
	server, err := devstack.StartPostgres(ctx, n.config)
	if err == nil {
		n.Postgres = server
	}
	return err
}

// end ends it and takes its disk away.
func (n *node) end() error {
	if n == nil {
		return nil
	}
	if n.Postgres != nil {
		n.Stop()
	}
	return n.disk()
}

// addr is host:port.
func (n *node) addr() string { return hostOf(n.DSN()) }

func hostOf(dsn string) string {
	to, err := url.Parse(dsn)
	if err != nil {
		return "" // StartPostgres made it
	}
	return to.Host
}

// dsn leads to whichever server takes writes now.
func (d *database) dsn() string {
	to, err := url.Parse(d.direct())
	if err != nil {
		return ""
	}
	to.Host = d.proxy.Addr()
	return to.String()
}

// direct goes past the proxy.
func (d *database) direct() string { return d.primary.DatabaseDSN(databaseName) }

// do runs statements at a server, past the proxy.
func (n *node) do(ctx context.Context, statements ...string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, n.DSN())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// addStandby copies the primary while it works, by the server's own functions, and starts the copy as a standby. It returns
// once commits wait for it.
func (d *database) addStandby(ctx context.Context) error {
	standby, err := d.newNode()
	if err != nil {
		return err
	}
	d.standby = standby
	if err := devtest.BaseBackup(ctx, d.primary.DSN(), standby.config.Dir); err != nil {
		return fmt.Errorf("base backup: %w", err)
	}
	standby.config.Settings["primary_conninfo"] = devtest.Conninfo(d.primary.DSN())
	if err := standby.start(ctx); err != nil {
		return fmt.Errorf("standby: %w", err)
	}
	if err := d.primary.do(ctx, "alter system set synchronous_standby_names = 'standby'",
		"alter system set synchronous_commit = 'remote_apply'", "select pg_reload_conf()"); err != nil {
		return err
	}
	return d.awaitStandby(ctx)
}

// awaitStandby returns once the standby streams, and commits wait for it.
func (d *database) awaitStandby(ctx context.Context) error {
	return until(ctx, "the standby follows", patience, func() (follows bool, err error) {
		conn, err := pgx.Connect(ctx, d.primary.DSN())
		if err != nil {
			return false, err
		}
		defer conn.Close(ctx)
		return follows, conn.QueryRow(ctx,
			`select exists (select from pg_stat_replication where state = 'streaming' and sync_state = 'sync')`).Scan(&follows)
	})
}

// restart stops the primary, by SIGQUIT without a checkpoint as after a loss of power if it crashes, and starts it again.
func (d *database) restart(ctx context.Context, crash bool, pause time.Duration) error {
	if crash {
		if err := d.primary.crash(ctx); err != nil {
			return err
		}
	} else {
		d.primary.Stop()
	}
	background.Sleep(ctx, pause)
	if err := d.primary.start(ctx); err != nil {
		return err
	}
	return d.awaitStandby(ctx)
}

func (n *node) crash(ctx context.Context) error {
	if err := syscall.Kill(n.Pid(), syscall.SIGQUIT); err != nil {
		return err
	}
	select {
	case <-n.Done():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// failOver lets the primary crash, makes the standby the primary, and leads all to it.
func (d *database) failOver(ctx context.Context) error {
	if d.standby == nil {
		return errors.New("there is no standby")
	}
	if err := d.primary.crash(ctx); err != nil {
		return err
	}
	// Before it takes writes: they would wait for a standby that there is not.
	if err := d.standby.do(ctx, "alter system reset synchronous_standby_names", "select pg_reload_conf()",
		"select pg_promote(true, 60)"); err != nil {
		return err
	}
	former := d.primary
	d.primary, d.standby = d.standby, nil
	delete(d.primary.config.Settings, "primary_conninfo")
	d.proxy.Lead(d.primary.addr())
	d.proxy.Sever()
	return former.end()
}

// fillDisk writes a file until the primary's disk is full. empty removes it.
func (d *database) fillDisk() (empty func() error, err error) {
	name := filepath.Join(d.primary.config.Dir, "filler")
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // in our own directory
	if err != nil {
		return nil, err
	}
	defer file.Close()
	block := make([]byte, 64<<10)
	for len(block) > 0 { // smaller and smaller ones, to the last byte
		if _, err := file.Write(block); err != nil {
			if !errors.Is(err, syscall.ENOSPC) {
				return nil, errors.Join(err, os.Remove(name))
			}
			block = block[:len(block)/2]
		}
	}
	return func() error { return os.Remove(name) }, nil
}

// revive starts the primary again if it has ended, as an operator does once its disk has room.
func (d *database) revive(ctx context.Context) (ended bool, err error) {
	select {
	case <-d.primary.Done():
		return true, d.primary.start(ctx)
	default:
		return false, nil
	}
}

// useUp takes all connections of the primary, those of the services too, for a time.
func (d *database) useUp(ctx context.Context, lasts time.Duration) (taken int, err error) {
	var hogs []*pgx.Conn
	defer func() {
		for _, hog := range hogs {
			_ = hog.Close(ctx)
		}
	}()
	const name = "hog"
	dsn := d.primary.DSN() + "&application_name=" + name
	most, err := strconv.Atoi(maxConnections)
	if err != nil {
		return 0, err
	}
	for ends := time.Now().Add(lasts); time.Now().Before(ends); {
		hog, err := pgx.Connect(ctx, dsn)
		if err == nil {
			hogs = append(hogs, hog)
			continue
		}
		if len(hogs) == 0 {
			return 0, err
		}
		if len(hogs) < most-5 { // the services' connections are ended; only the standby's stays
			if _, err := hogs[0].Exec(ctx, `select pg_terminate_backend(pid) from pg_stat_activity
				where backend_type = 'client backend' and application_name <> $1`, name); err != nil {
				return len(hogs), err
			}
		}
		background.Sleep(ctx, 20*time.Millisecond)
	}
	return len(hogs), nil
}

func (d *database) close() error {
	err := errors.Join(d.standby.end(), d.primary.end()) // in this order: the primary's end would wait for the standby
	if d.proxy != nil {
		d.proxy.Close()
	}
	return err
}
