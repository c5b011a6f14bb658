-- +goose Up
-- older programs go on: they only do not know that paying is blocked.
-- When it was seen that changes of the company are lost, since the database was restored from a backup: coupons, links
-- and payments may be among them, so paying is blocked until an owner confirms. Null: not so.
alter table company add column restored_at timestamptz;

-- +goose Down
alter table company drop column restored_at;
