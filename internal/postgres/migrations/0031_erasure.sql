-- +goose Up
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
create table sealed_first (
  company_id     text not null,
  order_id       text not null,
  is_first_order boolean, -- null: it was not known
  primary key (company_id, order_id)
);

-- +goose Down
drop table sealed_first, erased_key, erased_order, erasure_visitor, erasure_key, erasure;
