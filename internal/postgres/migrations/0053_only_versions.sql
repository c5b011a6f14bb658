-- +goose Up
-- An order that has one version, as most have, has no row in order_version: when the version
-- was made and accepted, and its hash, are with the order. Of an order with several versions
-- these three are null. The columns stand so that no row has bytes between them.
create table orders_new (
  created_at     timestamptz not null,
  processed_at   timestamptz not null, -- when it was stored
  approved_since timestamptz,          -- when the unbroken run of approved versions began that the newest belongs to
  version_at     timestamptz,          -- of its only version, these three; null: order_version has its versions
  accepted_at    timestamptz,
  total_minor    bigint not null,
  day            date not null,        -- of created_at, in the company's time zone
  status         smallint not null,
  sent_first     boolean,              -- isFirstOrder as the merchant sent it
  company_id     text not null,
  order_id       text not null,
  currency       text not null,
  name           text,                 -- these three as the merchant sent them
  number         text,
  discount_code  text,
  content_hash   bytea,
  body           bytea not null        -- the fold of its versions (facts.PackOrder)
);
insert into orders_new (created_at, processed_at, approved_since, version_at, accepted_at, total_minor, day, status, sent_first, company_id, order_id, currency, name, number, discount_code, content_hash, body)
select o.created_at, o.processed_at, o.approved_since, v.version_at, v.accepted_at, o.total_minor, o.day, o.status, o.sent_first, o.company_id, o.order_id, o.currency, o.name, o.number, o.discount_code, v.content_hash, o.body
from orders o left join order_version v on v.company_id = o.company_id and v.order_id = o.order_id and v.body is null;
drop table orders;
alter table orders_new rename to orders;
alter table orders add primary key (company_id, order_id);
create index orders_day on orders (company_id, day, created_at);
create index orders_created on orders (company_id, created_at, order_id);
create index orders_name on orders (company_id, name) where name is not null;
create index orders_number on orders (company_id, number) where number is not null;
create index orders_status on orders (company_id, status, created_at, order_id) where status <> 0;

create table order_version_new (
  version_at   timestamptz not null, -- updatedAt, else acceptedAt
  accepted_at  timestamptz not null,
  company_id   text not null,
  order_id     text not null,
  content_hash bytea not null,
  body         bytea not null        -- facts.PackOrder
);
insert into order_version_new (version_at, accepted_at, company_id, order_id, content_hash, body)
select version_at, accepted_at, company_id, order_id, content_hash, body from order_version where body is not null;
drop table order_version;
alter table order_version_new rename to order_version;
alter table order_version add primary key (company_id, order_id, version_at, accepted_at, content_hash);

-- +goose Down
alter table order_version alter column body drop not null;
insert into order_version (version_at, accepted_at, company_id, order_id, content_hash, body)
select version_at, accepted_at, company_id, order_id, content_hash, null from orders where accepted_at is not null;
alter table orders drop column version_at, drop column accepted_at, drop column content_hash;
