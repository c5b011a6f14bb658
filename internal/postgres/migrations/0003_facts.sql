-- +goose Up
-- +goose StatementBegin
-- Facts: events and orders as they came, what finds them, and what stays of those that were removed. Written by the processor
-- alone, in one transaction a batch together with consumer_offset and what is derived from them.

create table consumer_offset (
  topic      text not null,
  partition  int not null,
  cluster_id text not null,
  log_id     text not null default '', -- the topic's id; one that was deleted and made again has another; empty: not known
  next       bigint not null,          -- the first record not yet applied
  last       bytea,                    -- digest of the record before next; a log that was cut and grew again has another; null: none
  epoch      bigint not null default 0, -- how often an owner took the partition over; an owner of an earlier epoch writes nothing
  primary key (topic, partition)
);

-- Exactly once by (company_id, event_id). The columns stand so that no row has bytes between them.
create table event_fact (
  at         timestamptz not null, -- corrected time
  event_id   uuid not null,        -- a UUIDv7; its own time chooses the partition, so every copy of an id lies in the same one
  class      smallint not null,    -- facts.Class: 0 of a program, 1 of a person, 2 of a person who came by a campaign
  company_id text not null,
  name       text not null,
  visitor    bytea,                -- packed.ID of facts.Event.Visitor; null: nothing reads the event
  sources    bytea[],              -- of a visitor whose id may be guessed: cart, cookie, network (packed.ID); a byte: a backend sent it
  record     bytea not null,       -- packed.AppendRecord, beside company_id, event_id, name and visitor
  primary key (company_id, event_id)
) partition by range (event_id);
create table event_fact_default partition of event_fact default;
create index event_fact_visitor on event_fact (company_id, visitor, at) where visitor is not null;
-- Of a visitor with more events than are read for an order, those that came by a campaign are read all the same.
create index event_fact_arrived on event_fact (company_id, visitor, at) where class = 2 and visitor is not null;
-- Of a visitor whose id may be guessed anybody can send any number of events. Those that
-- are proven are found by what a stranger cannot send.
create index event_fact_cart on event_fact (company_id, visitor, (sources[1]), at) where sources[1] is not null;
create index event_fact_cookie on event_fact (company_id, visitor, (sources[2]), at) where sources[2] is not null;
create index event_fact_network on event_fact (company_id, visitor, (sources[3]), at) where sources[3] is not null;
create index event_fact_keyed on event_fact (company_id, visitor, at) where sources[4] is not null;
-- Completed checkouts are found by it (signs of checkouts without an order).
create index event_checkout on event_fact (company_id, event_id) where name = 'CHECKOUT_COMPLETED';

-- The months of event_fact are made and dropped by these functions, with the rights of the tables' owner: so a
-- service's own role needs no right to change the schema.

create function make_event_month(month date) returns void language plpgsql security definer as $$
declare
  first timestamp := make_date(extract(year from month)::int, extract(month from month)::int, 1);
  -- facts.FirstID: a version 7 id begins with 48 bits of milliseconds.
  from_id uuid := (lpad(to_hex((extract(epoch from first) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;
  to_id uuid := (lpad(to_hex((extract(epoch from first + interval '1 month') * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;
begin
  if month not between '2000-01-01' and '2100-12-31' then
    raise exception 'no month of events: %', month;
  end if;
  execute format('create table %I partition of event_fact for values from (%L) to (%L)',
    'event_fact_' || to_char(first, 'YYYY_MM'), from_id, to_id);
end $$;

-- It drops a month without events, and tells whether it did. Where others use the table, it waits two seconds.
create function drop_event_month(month date) returns boolean language plpgsql security definer as $$
declare
  name text := 'event_fact_' || to_char(month, 'YYYY_MM');
  events boolean;
begin
  if to_regclass(name) is null then
    return false;
  end if;
  execute format('select exists (select 1 from %I)', name) into events;
  if events then
    return false;
  end if;
  perform set_config('lock_timeout', '2s', true);
  lock table event_fact in access exclusive mode; -- the parent first, as inserts do: so two cannot wait for each other
  execute format('select exists (select 1 from %I)', name) into events;
  if not events then
    execute format('drop table %I', name);
  end if;
  return not events;
end $$;

-- Nobody can put tables or functions of their own before those of this schema.
do $$ declare name text; begin
  foreach name in array array['make_event_month', 'drop_event_month'] loop
    execute format('alter function %I(date) set search_path = %I, pg_temp', name, current_schema());
    execute format('revoke all on function %I(date) from public', name);
  end loop;
end $$;

-- Which visitors were seen with which key, one row a day (UTC), or an hour of receipt for
-- the kind network. The columns stand so that no row has bytes between them.
create table observation (
  slot       int not null,      -- the first hour of the day, or the hour: since 1970
  first_ms   int not null,      -- of the first event, since the slot began
  last_ms    int not null,
  first_hour int not null,      -- least hour since 1970 in the ids of these events: where they are stored
  last_hour  int not null,
  kind       smallint not null, -- facts.KeyKind.Code
  company_id text not null,
  key        bytea not null,    -- packed.ID
  visitor    bytea not null,    -- packed.ID
  primary key (company_id, kind, key, slot, visitor) -- by day: a read takes no more rows than its limit of visitors has days
);
-- Of the kinds visitor (3) and user (10) the key is the visitor's own id.
create index observation_visitor on observation (company_id, visitor, kind, slot, key) where kind <> 3 and kind <> 10;

-- The current order: the fold of its versions. An order that has one version, as most have, has no row in order_version.
-- The columns stand so that no row has bytes between them.
create table orders (
  created_at     timestamptz not null,
  processed_at   timestamptz not null, -- when it was stored
  approved_since timestamptz,          -- when the unbroken run of approved versions began that the newest is of; null: it is not approved
  version_at     timestamptz,          -- of its only version, as accepted_at and content_hash; null: order_version has its versions
  accepted_at    timestamptz,
  total_minor    bigint not null,
  day            date not null,        -- of created_at, in the company's time zone
  status         smallint not null,
  sent_first     boolean,              -- isFirstOrder as the merchant sent it
  test           boolean,              -- true: an order to try something out, that counts nowhere; null: it is none
  company_id     text not null,
  order_id       text not null,
  currency       text not null,
  name           text,                 -- these three as the merchant sent them
  number         text,
  discount_code  text,
  content_hash   bytea,                -- the first 16 bytes of a SHA-256
  body           bytea not null,       -- the fold of its versions (facts.PackOrder)
  primary key (company_id, order_id)
);
create index orders_day on orders (company_id, day, created_at);
-- GET /orders reads a company's orders from the newest on.
create index orders_created on orders (company_id, created_at, order_id);
-- Pages look for an order by what the shop calls it.
create index orders_name on orders (company_id, name) where name is not null;
create index orders_number on orders (company_id, number) where number is not null;
-- Lists of orders that are pending or cancelled: there may be few, or none, among very many.
create index orders_status on orders (company_id, status, created_at, order_id) where status <> 0;

-- Every version of an order that has several; the current order is their fold.
create table order_version (
  version_at   timestamptz not null, -- updatedAt, else acceptedAt
  accepted_at  timestamptz not null,
  company_id   text not null,
  order_id     text not null,
  content_hash bytea not null,
  body         bytea not null,       -- facts.PackOrder
  primary key (company_id, order_id, version_at, accepted_at, content_hash)
);

-- The only table with personal data of orders.
create table order_personal (
  company_id  text not null,
  order_id    text not null,
  version_at  timestamptz not null,
  accepted_at timestamptz not null,
  digest      bytea not null, -- the first 8 bytes of the SHA-256 of the bytes as they came: settles equal times
  body        jsonb not null,
  primary key (company_id, order_id)
);

-- The keys that join an order to visitors. The orders of a key are found by a digest of 8 bytes, which has the company in it.
-- The columns stand so that no row has bytes between them.
create table order_key (
  created_at timestamptz not null, -- the order's
  digest     bigint not null,      -- facts.KeyDigest, and hub in its last two bits
  kind       smallint not null,    -- facts.KeyKind.Code
  hub        smallint not null,    -- facts.Hub.Code: why the key joins nothing around the order; 0: it joins
  company_id text not null,
  key        bytea not null,       -- packed.ID
  order_id   text not null,
  -- Not (company_id, order_id, digest): PostgreSQL 18 skips through such an index to find a
  -- digest, and reads a whole company for each key.
  primary key (digest, created_at, company_id, order_id)
);
create index order_key_order on order_key (company_id, order_id);
create index order_key_hub on order_key (company_id, order_id) where hub <> 0;

-- The newest version of each product: the greatest (updated_at, accepted_at, digest).
create table product (
  company_id  text not null,
  product_id  text not null,
  name        text not null,
  updated_at  timestamptz not null, -- updatedAt, else acceptedAt
  accepted_at timestamptz not null,
  digest      bytea not null,       -- SHA-256 of the bytes as they came
  body        jsonb not null,
  primary key (company_id, product_id)
);
create table product_variant (
  company_id text not null,
  variant_id text not null,
  product_id text not null,
  sku        text,
  primary key (company_id, variant_id, product_id) -- a shop may list one variant under two products
);
create index product_variant_product on product_variant (company_id, product_id);
-- Items of orders and events may name a SKU.
create index product_variant_sku on product_variant (company_id, sku) where sku is not null;

-- The evidence of an order that its events no longer show (facts.EvidenceSnapshot): its outcome is
-- computed from it. A snapshot is a fact and never changes. A replay copies it.
create table evidence_snapshot (
  company_id text not null,
  order_id   text not null,
  snapshot_at  timestamptz not null,
  body       bytea not null, -- facts.SnapshotPath as JSON, packed (internal/postgres/explained)
  primary key (company_id, order_id)
);

-- How far the removal of old events has come, one row a company.
create table retention (
  company_id  text not null,
  begun_until timestamptz not null, -- events and visitors' days before it may be removed already
  done_until  timestamptz,          -- all events before it are removed, and the orders that read them are snapshotted; null: none yet
  done_at     timestamptz,          -- when that removal began
  nonconverting_from  date not null,
  	       -- from which day on non-converting paths may be counted: those of the days before read events that may be
                                    -- removed. It is as long after begun_until as the longest window and its margin are
  primary key (company_id)
);

-- Erasures of persons (facts.Erasure). What a row says of the person goes when it is done:
-- its keys, its visitors and its salt.
create table erasure (
  company_id text not null,
  erasure_id uuid not null,
  rev        bigint not null,      -- of the company's rules: erasures are done in this order
  asked_at   timestamptz not null, -- what came until then is erased
  actor      text not null,
  kinds      text not null,        -- of what the person was named by, joined by commas
  salt       bytea,                -- of the surrogates; null: it is done
  phase      smallint not null default 0, -- facts.ErasurePhase
  event_at   timestamptz,          -- how far the phase has come
  event_id   uuid,
  order_id   text,
  orders     bigint not null default 0, -- erased
  events     bigint not null default 0, -- removed
  done_at    timestamptz,
  primary key (company_id, erasure_id)
);
create index erasure_waiting on erasure (company_id, rev) where done_at is null;

-- By what the person of an erasure that is not done is known.
create table erasure_key (
  company_id text not null,
  erasure_id uuid not null,
  kind       smallint not null, -- facts.KeyKind.Code
  key        bytea not null,    -- packed.ID
  primary key (company_id, erasure_id, kind, key)
);
create table erasure_visitor (
  company_id text not null,
  erasure_id uuid not null,
  visitor    bytea not null,   -- packed.ID
  wholly     boolean not null, -- all of its events go, not only those that name the person
  done       boolean not null default false,
  primary key (company_id, erasure_id, visitor)
);

-- Orders whose person is erased. They stay so, whatever version comes.
create table erased_order (
  company_id text not null,
  order_id   text not null,
  erasure_id uuid not null,
  surrogates jsonb, -- facts.Surrogates: what stands for the keys; null: not yet
  primary key (company_id, order_id)
);
create index erased_order_erasure on erased_order (company_id, erasure_id) where surrogates is null;

-- Digests of what named erased persons: events from before the erasure that come again,
-- from Kafka, from an edge's spool or from an import, are not stored. Nothing can be found from a digest.
create table erased_key (
  company_id text not null,
  digest     bytea not null, -- facts.ErasedDigest
  erased_at  timestamptz not null,
  primary key (company_id, digest)
);

-- Whether an order is its customer's first, as it was when another order or its own person
-- was erased. It follows from nothing any more.
create table snapshot_first (
  company_id     text not null,
  order_id       text not null,
  is_first_order boolean, -- null: it was not known
  primary key (company_id, order_id)
);

-- Delivery ledger: what became of the events of a day.
create table delivery (
  company_id text not null,
  day        date not null, -- UTC, of received_at
  outcome    text not null, -- stored | duplicate | rejected:<code>
  events     bigint not null,
  primary key (company_id, day, outcome)
);

-- The table delivery, by where events come from.
create table delivery_source (
  company_id text not null,
  day        date not null,
  origin     text not null, -- of the page: one of the company's, 'other', or '' for none
  agent      text not null, -- a family of internal/agent
  outcome    text not null, -- as in delivery, without reasons
  events     bigint not null,
  primary key (company_id, day, origin, agent, outcome)
);

-- Pages whose events edges refused, since their origin is none of the company's. Anybody can send any: few are kept, of those of
-- the company's own domain first, and for some weeks (internal/upkeep/delivery).
create table refused_origin (
  company_id text not null,
  origin     text not null, -- as browsers send it, 'null' too; 'other': all those that are too many, or no origins
  own        boolean not null, -- it has the registrable domain of one of the company's
  events     bigint not null,
  last_at    timestamptz not null,
  primary key (company_id, origin)
);

-- Senders' numberings of their events: how far each has come, and which numbers have not
-- (internal/upkeep/delivery). A row is removed some days after its last event.
create table stream (
  company_id text not null,
  stream     bytea not null,  -- the first 16 bytes of the SHA-256 of its name
  day        date not null,   -- UTC, of its last event
  top        bigint not null, -- the highest number
  gaps       jsonb,           -- numbers that have not come (delivery.Gap); null: none
  origin     text,            -- from where its events come, and agent too: its missing ones are counted there; null: it is not known
  agent      text,
  primary key (company_id, stream)
);
-- Whole ones are removed sooner.
create index stream_whole on stream (company_id, day) where gaps is null;
create index stream_gaps on stream (company_id, day) where gaps is not null;

-- What was counted and is in no other table, so that it is counted once however often it
-- comes: repeats, rejected events, and what senders gave up. Removed after some weeks.
create table delivery_seen (
  company_id text not null,
  id         bytea not null, -- a digest
  day        date not null,  -- UTC, on which it was received
  primary key (company_id, id)
);
create index delivery_seen_day on delivery_seen (company_id, day);

-- How much of the two tables above a day has made: both are bounded by company and day.
create table delivery_day (
  company_id text not null,
  day        date not null,
  streams    int not null,
  seen       int not null,
  unfollowed bytea, -- delivery.Sketch of the streams that are too many; null: none are
  primary key (company_id, day)
);
-- +goose StatementEnd
