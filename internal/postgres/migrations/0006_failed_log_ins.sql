-- +goose Up
-- What a person is told after logging in: how often it failed since the last time.
alter table person
  add column failed_log_ins     bigint not null default 0,
  add column last_failed_log_in timestamptz;

-- +goose Down
alter table person drop column failed_log_ins, drop column last_failed_log_in;
