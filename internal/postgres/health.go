package postgres

import (
	"context"
	"fmt"
	"time"
)

// OutboxSize tells how many records wait to be published, and since when the
// oldest; oldest is zero where none waits.
func (db *DB) OutboxSize(ctx context.Context) (waiting int64, oldest time.Time, err error) {
	var at *time.Time
	if err := db.pool.QueryRow(ctx, `select count(*), min(created_at) from outbox`).Scan(&waiting, &at); err != nil {
		return 0, time.Time{}, fmt.Errorf("postgres: outbox: %w", translate(err))
	}
	if at != nil {
		oldest = *at
	}
	return waiting, oldest, nil
}
