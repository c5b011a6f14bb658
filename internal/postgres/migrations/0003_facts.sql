-- +goose Up
-- Facts, and what is derived from them. Written by the processor alone, in one
-- transaction a batch together with consumer_offset.

create table consumer_offset (
  topic      text not null,
  partition  int not null,
  cluster_id text not null,
  next       bigint not null, -- the first record not yet applied
  primary key (topic, partition)
);

-- Exactly once by (company_id, event_id). id_time is the UUIDv7's own time, so
-- every copy of an id lies in the same partition; of several copies the one
-- with the least (received_at, digest) counts.
create table event_fact (
  company_id   text not null,
  id_time      timestamptz not null,
  event_id     uuid not null,
  name         text not null,
  at           timestamptz not null, -- corrected time
  received_at  timestamptz not null,
  digest       bytea not null,       -- SHA-256 of the record's bytes
  visitor      text,                 -- visitorId, else cookieId
  bot          text not null,
  via          text not null,
  body         jsonb not null,       -- the record as it came (wire.Event)
  primary key (company_id, id_time, event_id)
) partition by range (id_time);
create table event_fact_default partition of event_fact default;
create index event_fact_visitor on event_fact (company_id, visitor, at) where visitor is not null;

-- Which visitors were seen with which key, one row a day (UTC).
create table sighting (
  company_id text not null,
  kind       text not null, -- cart | visitor | customer | email | phone
  key        text not null,
  visitor    text not null,
  day        date not null,
  first_at   timestamptz not null,
  last_at    timestamptz not null,
  primary key (company_id, kind, key, visitor, day)
);
create index sighting_visitor on sighting (company_id, visitor, kind, key);

-- Every version of an order; the current order is their fold.
create table order_version (
  company_id   text not null,
  order_id     text not null,
  version_at   timestamptz not null, -- updatedAt, else acceptedAt
  accepted_at  timestamptz not null,
  content_hash bytea not null,
  body         jsonb not null, -- wire.Order without personal
  primary key (company_id, order_id, version_at, accepted_at, content_hash)
);

-- The only table with personal data of orders.
create table order_personal (
  company_id   text not null,
  order_id     text not null,
  version_at   timestamptz not null,
  accepted_at  timestamptz not null,
  digest       bytea not null, -- SHA-256 of the bytes as they came: settles equal times
  body         jsonb not null,
  primary key (company_id, order_id)
);

-- The current order: the fold of its versions.
create table orders (
  company_id     text not null,
  order_id       text not null,
  created_at     timestamptz not null,
  day            date not null, -- of created_at, in the company's time zone
  status         smallint not null,
  currency       text not null,
  total_minor    bigint not null,
  shipping_minor bigint not null default 0,
  is_first_order boolean,
  body           jsonb not null, -- folded wire.Order
  processed_at   timestamptz not null,
  primary key (company_id, order_id)
);
create index orders_day on orders (company_id, day, created_at);
create index orders_processed on orders (company_id, processed_at, order_id); -- live views catch up by it

-- By what an order is found: the keys that join it to visitors, and by what a
-- change of rules can concern it (code, utm, link, influencer).
create table order_key (
  company_id text not null,
  kind       text not null, -- cart | visitor | customer | email | phone | code | utm | link | influencer
  key        text not null,
  created_at timestamptz not null,
  order_id   text not null,
  primary key (company_id, kind, key, created_at, order_id)
);
create index order_key_order on order_key (company_id, order_id);

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

-- Channel credit, every model side by side; replaced whole at each recompute.
create table credit (
  company_id    text not null,
  order_id      text not null,
  model         text not null,
  position      int not null, -- of the touch in the path; 0 for unattributed
  touch_id      text not null,
  channel       text not null,
  influencer_id uuid,
  campaign_id   text,
  amount_minor  bigint not null,
  currency      text not null,
  primary key (company_id, order_id, model, position)
);

-- The payout's outcome, one row an order: who won and on what evidence.
create table payout (
  company_id       text not null,
  order_id         text not null,
  influencer_id    uuid,  -- null: nobody
  campaign_id      text,
  evidence         text check (evidence in ('coupon', 'link')),
  base_minor       bigint not null,
  commission_minor bigint not null, -- in the order's currency: net of the ledger, or expected while pending
  primary key (company_id, order_id)
);
create index payout_influencer on payout (company_id, influencer_id);

-- Append-only. The net per (order, cost, currency) is what is owed.
create table ledger_entry (
  company_id    text not null,
  order_id      text not null,
  entry         int not null, -- 1, 2, … within the order
  at            timestamptz not null,
  kind          text not null check (kind in ('earned', 'reversed', 'adjusted')),
  influencer_id uuid not null,
  campaign_id   text,
  cost_id       uuid not null,
  amount_minor  bigint not null,
  currency      text not null,
  reverses      int, -- the entry it takes back
  rule_rev      bigint not null,
  cause         text not null, -- what made it: "order <version>", "event <id>", "rule <rev> <type>"
  primary key (company_id, order_id, entry)
);
create index ledger_influencer on ledger_entry (company_id, influencer_id, at);

-- The explanation (docs/attribution.md, "Explanation"), ready to serve, without its ledger.
create table explanation (
  company_id   text not null,
  order_id     text not null,
  body         jsonb not null,
  outcome_hash bytea not null default '', -- SHA-256 of the whole outcome: an equal one writes nothing
  primary key (company_id, order_id)
);

-- Orders to compute again, where a change concerns too many for its batch.
create table recompute (
  company_id text not null,
  order_id   text not null,
  cause      text not null,
  queued_at  timestamptz not null default now(),
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

-- +goose Down
drop table delivery, recompute, explanation, ledger_entry, payout, credit, product_variant, product,
  order_key, orders, order_personal, order_version, sighting, event_fact, consumer_offset;
