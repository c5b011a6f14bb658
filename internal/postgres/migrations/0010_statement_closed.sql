-- +goose NO TRANSACTION
-- +goose Up
-- Statements by the day on which they were closed, for `tributary export statements`.
-- older programs go on: they see no index.
set lock_timeout = 0;
drop index concurrently if exists statement_closed;
create index concurrently statement_closed on statement (company_id, closed_at) where closed_at is not null;
reset lock_timeout;
