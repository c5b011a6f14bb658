package postgres

import (
	"context"
	"time"
)

// ServerState is what the server says of itself and of our database.
type ServerState struct {
	Version           string    // "16.4"
	VersionNumber     int       // 160004
	Now               time.Time // the server's clock
	Encoding          string    // of the database: "UTF8"
	ReadOnly          bool      // a standby, or a database that takes no writes
	Fsync             string    // on | off
	FullPageWrites    string    // on | off
	SynchronousCommit string    // of our sessions: off loses the last commits in a crash
	BtreeGist         bool      // the extension can be created, or is there
	MaxConnections    int
	Connections       int // open now, ours included
}

// ServerState asks the server.
func (db *DB) ServerState(ctx context.Context) (s ServerState, err error) {
	err = db.pool.QueryRow(ctx, `
		select current_setting('server_version'), current_setting('server_version_num')::int, clock_timestamp(),
			current_setting('server_encoding'), pg_is_in_recovery() or current_setting('transaction_read_only')::boolean,
			current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit'),
			exists(select 1 from pg_available_extensions where name = 'btree_gist'),
			current_setting('max_connections')::int, (select count(*) from pg_stat_activity where backend_type = 'client backend')`,
	).Scan(&s.Version, &s.VersionNumber, &s.Now, &s.Encoding, &s.ReadOnly, &s.Fsync, &s.FullPageWrites, &s.SynchronousCommit,
		&s.BtreeGist, &s.MaxConnections, &s.Connections)
	return s, Translate(err)
}
