-- order_key as migrations 0003 to 0014 made it, for the way back from 0016.
create table order_key_new (
  company_id text not null,
  kind       text not null,
  key        text not null,
  created_at timestamptz not null,
  order_id   text not null,
  hub        text not null default ''
);
-- then
drop table order_key;
alter table order_key_new rename to order_key;
alter table order_key add primary key (company_id, kind, key, created_at, order_id);
create index order_key_order on order_key (company_id, order_id);
create index order_key_joining on order_key (company_id, kind, key, created_at, order_id) where hub in ('', 'visitors');
