-- +goose Up
-- How often a partition was taken over by an owner. What an owner of an earlier epoch
-- would write is refused.
alter table consumer_offset add column epoch bigint not null default 0;

-- +goose Down
alter table consumer_offset drop column epoch;
