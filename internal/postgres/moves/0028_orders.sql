-- orders as migrations 0003 to 0028 made it, for the way back from 0029.
create table orders_new (
  company_id     text not null,
  order_id       text not null,
  created_at     timestamptz not null,
  day            date not null,
  status         smallint not null,
  currency       text not null,
  total_minor    bigint not null,
  shipping_minor bigint not null default 0,
  is_first_order boolean,
  body           jsonb not null,
  processed_at   timestamptz not null,
  approved_since timestamptz
);
-- then
drop table orders;
alter table orders_new rename to orders;
alter table orders add primary key (company_id, order_id);
create index orders_day on orders (company_id, day, created_at);
create index orders_processed on orders (company_id, processed_at, order_id);
create index orders_created on orders (company_id, created_at, order_id);
create index orders_name on orders (company_id, (body->>'name')) where body->>'name' is not null;
create index orders_number on orders (company_id, (body->>'number')) where body->>'number' is not null;
