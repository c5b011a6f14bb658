-- +goose Up
-- +goose StatementBegin
-- What leaves to a merchant's other systems: where to, and what waits (docs/adr/0039-what-leaves-goes-by-one-outbox.md).
-- older programs go on: they neither read nor write these tables, and a company that has no destination has no rows in them.

-- Where a company's events go. One queue over all companies: who sends to which, and when each is looked at again.
create table destination (
  company_id     text not null,
  destination_id text not null,
  kind           text not null,             -- 'webhook'
  state          text not null check (state in ('active', 'disabled')),
  reason         text not null default '',  -- why it is disabled (commerce.Endpoint.Reason)
  since          timestamptz not null,      -- of state
  name           text not null,
  url            text not null,
  types          text[] not null,           -- of events that it gets
  secrets        jsonb not null,            -- commerce.SealedSecret, the newest first: sealed to the connect service
  created_at     timestamptz not null,
  failing_since  timestamptz,               -- the first of the attempts that failed, all since the last that did not; null: none did
  failures       int not null default 0,    -- attempts that failed, since the last that did not
  delivered_at   timestamptz,               -- the last attempt that did not fail
  next_at        timestamptz not null,      -- when it is looked at
  holder         text not null default '',  -- the sender that works on it
  leased_until   timestamptz,
  primary key (company_id, destination_id)
);
create index destination_next on destination (next_at) where state = 'active';

-- How many events a company had that a destination got. Who writes events holds the row until the commit: so numbers are in the order
-- of commits.
create table outgoing_number (
  company_id text primary key,
  last       bigint not null
);

-- What goes to a destination, a row each event: references, amounts and states, no person's data.
create table outgoing (
  company_id     text not null,
  destination_id text not null,
  number         bigint not null,           -- of the company; what has one key goes in this order
  key            text not null,             -- such as order:1001
  type           text not null,             -- commerce.EventType
  at             timestamptz not null,      -- when it became so
  message_id     text not null,             -- by which the receiver knows it again
  data           json not null,
  state          text not null default 'waiting' check (state in ('waiting', 'delivered', 'parked', 'skipped')),
  due_at         timestamptz not null,      -- of the next attempt
  attempts       int not null default 0,    -- since it last began to wait
  tries          jsonb not null default '[]', -- commerce.Try, the last ones
  done_at        timestamptz,               -- when it was delivered, parked or skipped; null: it waits
  primary key (company_id, destination_id, number)
);
create index outgoing_due on outgoing (company_id, destination_id, due_at, number) where state = 'waiting';
create index outgoing_key on outgoing (company_id, destination_id, key, number) where state = 'waiting';
create index outgoing_done on outgoing (company_id, destination_id, done_at) where state <> 'waiting';
-- +goose StatementEnd
