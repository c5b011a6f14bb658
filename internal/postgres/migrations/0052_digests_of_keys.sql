-- +goose Up
-- The orders of a key are found by a digest of 8 bytes (facts.KeyDigest), which has the
-- company in it and the hub in its last two bits: an index entry has 68 bytes where it had
-- 100, and hardly ever compares texts. The columns stand so that no row has bytes between them.
create table order_key_new (
  created_at timestamptz not null, -- the order's
  digest     bigint not null,      -- facts.KeyDigest, and hub in its last two bits
  kind       smallint not null,    -- facts.KeyKind.Code
  hub        smallint not null,    -- facts.Hub.Code: why the key joins nothing around the order; 0: it joins
  company_id text not null,
  key        bytea not null,       -- packed.ID
  order_id   text not null
);
insert into order_key_new (created_at, digest, kind, hub, company_id, key, order_id)
select created_at,
  ('x' || encode(substring(sha256(convert_to(company_id, 'UTF8') || '\x00'::bytea || set_byte('\x00'::bytea, 0, kind::int) || key) for 8), 'hex'))::bit(64)::bigint & -4 | hub,
  kind, hub, company_id, key, order_id
from order_key;
drop table order_key;
alter table order_key_new rename to order_key;
-- Not (company_id, order_id, digest): PostgreSQL 18 skips through such an index to find a
-- digest, and reads a whole company for each key.
alter table order_key add primary key (digest, created_at, company_id, order_id);
create index order_key_order on order_key (company_id, order_id);
create index order_key_hub on order_key (company_id, order_id) where hub <> 0;

-- +goose Down
alter table order_key drop constraint order_key_pkey, drop column digest;
alter table order_key add primary key (company_id, kind, key, hub, created_at, order_id);
