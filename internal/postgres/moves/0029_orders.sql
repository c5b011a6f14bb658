-- Migration 0029 moves orders into this table (moves/orders.go). Its columns
-- stand so that no row has bytes between them.
create table orders_new (
  created_at     timestamptz not null,
  processed_at   timestamptz not null,
  approved_since timestamptz,          -- when the unbroken run of approved versions began that the newest belongs to
  total_minor    bigint not null,
  day            date not null,        -- of created_at, in the company's time zone
  status         smallint not null,
  is_first_order boolean,
  sent_first     boolean,              -- isFirstOrder as the merchant sent it
  company_id     text not null,
  order_id       text not null,
  currency       text not null,
  name           text,                 -- these three as the merchant sent them
  number         text,
  discount_code  text,
  body           bytea not null        -- the fold of its versions (facts.PackOrder)
);
-- then
drop table orders;
alter table orders_new rename to orders;
alter table orders add primary key (company_id, order_id);
create index orders_day on orders (company_id, day, created_at);
create index orders_processed on orders (company_id, processed_at, order_id);
create index orders_created on orders (company_id, created_at, order_id);
create index orders_name on orders (company_id, name) where name is not null;
create index orders_number on orders (company_id, number) where number is not null;
