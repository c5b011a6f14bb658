-- +goose Up
-- After how many days events are removed (commerce.Settings.RetentionDays); 0: never.
alter table company add column retention_days int not null default 0 check (retention_days >= 0);

-- The evidence of an order that its events no longer show (facts.Seal): its outcome is
-- computed from it. A seal is a fact and never changes. A replay copies it.
create table seal (
  company_id text not null,
  order_id   text not null,
  sealed_at  timestamptz not null,
  body       bytea not null, -- facts.SealedPath as JSON, packed (internal/postgres/explained)
  primary key (company_id, order_id)
);

-- How far the removal of old events has come, one row a company.
create table retention (
  company_id  text not null,
  begun_until timestamptz not null, -- events and visitors' days before it may be removed already
  done_until  timestamptz,          -- all events before it are removed, and the orders that read them are sealed; null: none yet
  done_at     timestamptz,          -- when that removal began
  primary key (company_id)
);

-- +goose Down
drop table retention, seal;
alter table company drop column retention_days;
