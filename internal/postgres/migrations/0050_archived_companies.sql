-- +goose Up
-- Since when a company is archived: it takes no events and orders, and nothing of it is
-- changed. Null: it is not.
alter table company add column archived_at timestamptz;

-- +goose Down
alter table company drop column archived_at;
