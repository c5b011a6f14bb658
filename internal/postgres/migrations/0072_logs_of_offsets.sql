-- +goose Up
-- older programs go on: they neither read nor write these columns, and a digest names the offset it is of.
-- What identifies the log that an offset belongs to. A topic that was deleted and made again
-- has another id, and a log that was cut and grew again has another record before the offset.
alter table consumer_offset
  add column log_id text not null default '', -- the topic's id; empty: not known
  add column last   bytea;                    -- digest of the record before next; null: none was applied

-- +goose Down
alter table consumer_offset drop column log_id, drop column last;
