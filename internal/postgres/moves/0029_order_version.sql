-- Migration 0029 moves versions of orders into this table (moves/orders.go).
create table order_version_new (
  version_at   timestamptz not null, -- updatedAt, else acceptedAt
  accepted_at  timestamptz not null,
  company_id   text not null,
  order_id     text not null,
  content_hash bytea not null,
  body         bytea                 -- facts.PackOrder; null: the order's, of which it is the only version
);
-- then
drop table order_version;
alter table order_version_new rename to order_version;
alter table order_version add primary key (company_id, order_id, version_at, accepted_at, content_hash);
