-- Migration 0016 moves the keys of orders into this table (moves/keys.go).
-- Its columns stand so that no row has bytes between them.
create table order_key_new (
  created_at timestamptz not null, -- the order's
  kind       smallint not null,    -- facts.KeyKind.Code
  hub        smallint not null,    -- facts.Hub.Code: why the key joins nothing around the order; 0: it joins
  company_id text not null,
  key        bytea not null,       -- packed.ID
  order_id   text not null
);
-- then
drop table order_key;
alter table order_key_new rename to order_key;
-- A read of the orders around which a key joins, or of all, names the values of hub: then
-- each of them is one range of the index.
alter table order_key add primary key (company_id, kind, key, hub, created_at, order_id);
create index order_key_order on order_key (company_id, order_id);
create index order_key_hub on order_key (company_id, order_id) where hub <> 0;
