-- +goose Up
-- +goose StatementBegin
-- What leaves: to a merchant's other systems, people, files and advertising networks.
--
-- Where to, and what waits (docs/adr/0039-what-leaves-goes-by-one-outbox.md). Mails and accounts at networks are destinations too.

-- Where a company's events go. One queue over all companies: who sends to which, and when each is looked at again.
create table destination (
  company_id     text not null,
  destination_id text not null,
  kind           text not null,             -- commerce.DestinationKind
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
  language       text not null default '',  -- of mails: lang.Tags
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

-- Files that `tributary export` has written, so that an erasure can reach them (docs/analysis.md).

-- What is exported: a kind of rows to a directory. Runs are counted.
create table export (
  company_id text not null,
  export_id  uuid not null,   -- of the directory, which has it in a file
  kind       text not null check (kind in ('events', 'orders', 'credits', 'ledger', 'statements')),
  format     text not null check (format in ('parquet', 'csv')),
  place      text not null,   -- the machine and the directory, for people
  begun      bigint not null, -- the run that began last
  begun_at   timestamptz not null,
  done       bigint not null default 0, -- the last run that came to its end: every file was compared with the rows, or written
  done_at    timestamptz,     -- null: none did
  forgotten_at timestamptz,   -- its files are gone for good: nothing waits for it. The count of runs goes on where there are files again
  primary key (company_id, export_id, kind)
);

-- A day of it: one file. The row is there before the file is.
create table export_day (
  company_id text not null,
  export_id  uuid not null,
  kind       text not null,
  day        date not null,
  digest     bytea,  -- of the rows that the file was made of, of the key of its digests and of its layout; null: it is being written
  rows       bigint,
  bytes      bigint,
  modified   bigint, -- when the file was written, nanoseconds since 1970: one that a backup brought back has another time
  primary key (company_id, export_id, kind, day)
);

-- Exports whose files may still have the person of an erasure, all else of which is done.
create table erasure_export (
  company_id text not null,
  erasure_id uuid not null,
  export_id  uuid not null,
  kind       text not null,
  begun      bigint not null, -- the run that had begun: one that began after it and is done has written all files without the person
  primary key (company_id, erasure_id, export_id, kind)
);

-- What advertising networks were told (docs/adr/0048-conversions-leave-by-consent.md). An account at a network is a destination.

-- A row for each order that a network was told of, or may have been: it is written before the first request. It stays when the
-- destination goes: an erasure is passed on by it.
create table conversion (
  company_id  text not null,
  order_id    text not null,
  network     text not null,           -- destination.kind
  account     text not null,           -- commerce.NetworkAccount.Told
  begun_at    timestamptz not null,    -- before it was first sent
  sent_at     timestamptz,             -- the network took it; null: it is not known whether it did
  currency    text not null,
  value_minor bigint not null,         -- as the network has it now: less what was refunded
  primary key (company_id, order_id, network, account)
);
-- +goose StatementEnd
