-- +goose Up
-- +goose StatementBegin
-- Stores, their two companies, people, keys, and what services keep of the whole database. Every table of a store's data
-- has a primary key that starts with company_id; the exemptions are named in internal/postgres/schema_test.go.
create extension if not exists btree_gist;

-- Which programs may use this schema: those that know a migration of at least this number. A later migration with
-- which an older program cannot work raises it to its own number.
create table oldest_program (
  only_row       boolean primary key default true check (only_row),
  schema_version bigint not null
);
insert into oldest_program (schema_version) values (4);

-- The installation's id, made once with the database. It is in directory.v1 too, so that services of another
-- installation see that the topics are not theirs.
create table installation (
  only_row        boolean primary key default true check (only_row),
  installation_id text not null,
  topic_prefix    text -- of its topics, '' where their names have none; null: tributary migrate has not reached Kafka yet
);
insert into installation (installation_id) values ('i_' || replace(gen_random_uuid()::text, '-', ''));

create table store (
  store_id   uuid primary key,
  name       text not null,
  created_at timestamptz not null default now()
);

-- A store has one company per environment; every row of its data hangs off one. Its settings decide about the orders that
-- were created while they were in force (past_setting).
create table company (
  company_id             text primary key,
  store_id               uuid not null references store,
  environment            text not null check (environment in ('live', 'sandbox')),
  name                   text not null,
  legal_name             text not null default '',                  -- as statements print it; empty: name
  tax_id                 text not null default '',                  -- likewise; of a store in Brazil a CPF or CNPJ without signs
  country                text not null default 'BR',                -- ISO 3166-1 alpha-2
  timezone               text not null default 'America/Sao_Paulo', -- IANA
  currency               text not null default 'BRL',               -- ISO 4217
  origins                text[] not null default '{}',
  hosts                  text[] not null default '{}',
  passing_hosts          text[] not null default '{}', -- what the store adds to, or with "-" before it takes from, the hosts
                                                       -- through which a shopper passes without arriving (commerce.Passing)
  limits                 jsonb not null default '{}',
  consent_policy         text not null default 'none' check (consent_policy in ('none', 'required', 'honor_gpc')),
  retention_days         int not null default 0 check (retention_days >= 0), -- after so many days events are removed; 0: never
  payout_rule            text not null default 'coupon_first' check (payout_rule in ('coupon_first', 'last_touch')),
  window_days            int not null default 30 check (window_days between 1 and 365),
  half_life_days         int not null default 7 check (half_life_days between 1 and 365),
  ignore_direct          boolean not null default true,
  pay_recurring          boolean not null default false,
  commission_without_tax boolean not null default false, -- the base of commissions is without the tax that the total contains
  unproven               text not null default 'review' check (unproven in ('review', 'ignore', 'pay')),
  self_purchase          text not null default 'review' check (self_purchase in ('review', 'deny', 'pay')),
  hold_days              int not null default 30 check (hold_days between 0 and 365), -- from an order's approval
  delivered_hold_days    int not null default 15 check (delivered_hold_days between 0 and 365), -- from its delivery, where that is known
  minimum_payout         numeric not null default 0 check (minimum_payout >= 0), -- the least total of a statement that is paid,
                                                                                 -- in units of the currency
  confirm_decisions      boolean not null default false, -- a decision about an order counts once a second person has confirmed it
  rules_rev              bigint not null default 1, -- bumped, under this row's lock, by every change of a rule or setting
  created_at             timestamptz not null default now(),
  archived_at            timestamptz, -- since when it takes no events and orders, and nothing of it is changed; null: it is not archived
  restored_at            timestamptz, -- when it was seen that changes are lost, since the database was restored from a backup: coupons,
                                      -- links and payments may be among them, so paying is blocked until an owner confirms; null: not so
  unique (store_id, environment)
);

create table api_key (
  key_id        text primary key,
  secret_sha256 bytea not null unique, -- the key itself is shown once and never stored
  company_id    text not null references company,
  name          text not null,
  type          text not null check (type in ('own_platform', 'integration')),
  hint          text not null, -- last four characters
  scopes        text[] not null,
  created_at    timestamptz not null default now(),
  expires_at    timestamptz,
  revoked_at    timestamptz,
  last_used_at  timestamptz
);
create index api_key_company on api_key (company_id, created_at);

create table person (
  person_id          uuid primary key,
  email              text not null unique, -- trimmed, lower case
  password_hash      text not null,        -- argon2id, PHC string
  created_at         timestamptz not null default now(),
  failed_log_ins     bigint not null default 0, -- since the last time that the person logged in, which is told then
  last_failed_log_in timestamptz,
  second_factor      bytea,                     -- the secret of the codes, encrypted under a key of the token secret; null: none
  second_factor_step bigint not null default 0, -- of the last code that was used: it and those before count no more
  recovery_codes     bytea[] not null default '{}' -- SHA-256 of those that were not used
);

create table membership (
  store_id  uuid not null references store,
  person_id uuid not null references person,
  role      text not null check (role in ('owner', 'finance', 'analyst')),
  primary key (store_id, person_id)
);

-- Rotating refresh tokens of dashboard sessions. A token used twice ends its family.
create table person_session (
  token_sha256 bytea primary key,
  family       uuid not null,
  person_id    uuid not null references person,
  browser      text not null default '', -- as the list of sessions shows it: "Chrome, Windows"
  created_at   timestamptz not null default now(),
  expires_at   timestamptz not null,
  used_at      timestamptz
);
create index person_session_family on person_session (family);
create index person_session_person on person_session (person_id, family);

-- Who made a person's log-in or password by a link, each time: who knows another's log-in is no second person (ADR 27).
create table log_in_made (
  person_id uuid not null references person,
  made_at   timestamptz not null,
  made_by   uuid references person, -- null: the command line
  primary key (person_id, made_at)
);

-- One-time links: to come into a store, or to set a password anew.
create table invitation (
  invitation_id uuid primary key,
  token_sha256  bytea not null unique, -- the link is shown once and never stored
  store_id      uuid not null references store,
  email         text not null,         -- trimmed, lower case
  role          text check (role in ('owner', 'finance', 'analyst')),
  person_id     uuid references person, -- whose password is set anew; null: an invitation
  made_by       uuid references person, -- null: the command line
  created_at    timestamptz not null default now(),
  expires_at    timestamptz not null,
  check ((role is null) = (person_id is not null))
);
create index invitation_store on invitation (store_id, created_at);

-- Records that are still to be written to Kafka, in the order of commits.
create table outbox (
  outbox_id  bigint generated always as identity primary key,
  topic      text not null,
  key        text not null,
  value      bytea, -- null: a tombstone
  created_at timestamptz not null default now()
);

create table audit_log (
  company_id text not null,
  audit_id   uuid not null, -- UUIDv7
  at         timestamptz not null default now(),
  actor      text not null,
  action     text not null, -- e.g. influencer.create
  subject    text not null,
  part_of    text not null default '', -- what the subject is a part of: the influencer of a coupon
  detail     jsonb not null default '{}',
  primary key (company_id, audit_id)
);
create index audit_log_subject on audit_log (company_id, subject);
create index audit_log_part_of on audit_log (company_id, part_of) where part_of <> '';

-- Answers to writes that carried an Idempotency-Key. A row without an answer is
-- a request under way: its lease says until when nobody else may try.
create table idempotency (
  company_id      text not null,
  idempotency_key text not null,
  fingerprint     bytea not null, -- SHA-256 of method, path and body
  lease           uuid not null,  -- of the attempt: only its holder may answer
  leased_until    timestamptz not null,
  answer          bytea,          -- the data of the answer, as JSON; null: under way
  expires_at      timestamptz not null,
  primary key (company_id, idempotency_key)
);
create index idempotency_expiry on idempotency (company_id, expires_at);

-- What the connect service offers, and that it runs. Of the whole database.
create table connect_offer (
  only_row   boolean primary key default true check (only_row),
  key_id     text not null,
  public_key bytea not null, -- to which credentials are sealed
  platforms  jsonb not null,
  seen_at    timestamptz not null
);

-- The queue of connections: who works on which, and when each is looked at again. A notice's address names a connection alone.
create table connection_turn (
  connection_id text primary key,
  company_id    text not null,
  next_at       timestamptz not null,           -- 'infinity': when something comes
  woken         boolean not null default false, -- something came since it was taken
  holder        text not null default '',       -- the service that works on it
  leased_until  timestamptz,
  expires_at    timestamptz                     -- then it is removed: what was never connected, and what ended long ago
);
create index connection_turn_next on connection_turn (next_at);
create index connection_turn_expiry on connection_turn (expires_at) where expires_at is not null;

-- Connections to shops. They hold no personal data but what is sealed to the connect service (connection_notice.sealed), and ids of
-- customers, for 30 days (connection_request.customer).
create table connection (
  company_id       text not null,
  connection_id    text not null,
  platform         text not null,
  shop             text not null default '', -- the platform's id of it; empty: it was not tested yet
  shop_name        text not null default '',
  shop_url         text not null default '',
  currency         text not null default '',
  state            text not null check (state in
                     ('installing', 'draft', 'connecting', 'backfilling', 'live', 'failing', 'paused', 'ended')),
  since            timestamptz not null,
  reason           text not null default '',
  detail           text not null default '',
  created_at       timestamptz not null,
  install_state    bytea,                    -- SHA-256 of what the platform gives back; null: none, or it was given back
  sealed           bytea,                    -- credentials
  key_id           text not null default '', -- to which they are sealed
  api_key_id       text not null default '', -- of the key by which its orders are sent
  sealed_api_key   bytea,
  api_key_key_id   text not null default '',
  commissions_from timestamptz,
  poll_seconds     int not null check (poll_seconds between 30 and 3600),
  backfill_days    int not null default 0,
  backfill_from    timestamptz,
  backfill_to      timestamptz,
  backfill_at      timestamptz,
  backfill_page    text not null default '',
  backfill_done    bigint not null default 0,
  backfill_total   bigint not null default 0,
  backfill_ended   timestamptz,
  cursor_at        timestamptz,              -- the greatest update time of the platform that was stored
  polled_at        timestamptz,
  poll_now         boolean not null default false,
  last_order_at    timestamptz,
  notice_at        timestamptz,
  notices_on       boolean not null default false,
  orders           bigint not null default 0,
  tests            bigint not null default 0,
  aside_more       bigint not null default 0, -- that connection_aside has no room for
  reconciled_at    timestamptz,
  primary key (company_id, connection_id)
);
create unique index connection_shop on connection (company_id, platform, shop)
  where shop <> '' and state not in ('installing', 'draft', 'ended');
-- What a platform sends to the operator's app names a shop alone.
create index connection_of_shop on connection (platform, shop) where shop <> '';

-- What platforms sent and is not done yet: a flood of notices of one order is one row.
create table connection_notice (
  company_id    text not null,
  connection_id text not null,
  kind          text not null,
  key           text not null, -- the order's id
  sealed        bytea,         -- what else it says, where that is personal
  key_id        text not null default '',
  at            timestamptz not null,
  due_at        timestamptz not null,
  attempts      int not null default 0,
  came          bigint not null default 1,
  primary key (company_id, connection_id, kind, key)
);
create index connection_notice_due on connection_notice (company_id, connection_id, due_at);

-- What merchants ask the connect service to do.
create table connection_task (
  company_id    text not null,
  connection_id text not null,
  task_id       uuid not null, -- UUIDv7
  kind          text not null,
  question      jsonb,
  sealed        bytea,         -- a question that only the service can read
  key_id        text not null default '',
  created_at    timestamptz not null,
  taken_at      timestamptz,
  done_at       timestamptz,
  answer        jsonb,
  reason        text not null default '', -- why it failed
  detail        text not null default '',
  primary key (company_id, task_id)
);

-- Orders of shops that were not understood: names of their fields alone.
create table connection_aside (
  company_id    text not null,
  connection_id text not null,
  order_id      text not null,
  reason        text not null,
  detail        text not null,
  fields        text[] not null,
  at            timestamptz not null,
  attempts      int not null default 1,
  primary key (company_id, connection_id, order_id)
);

-- What such an order earned is held.
create index connection_aside_order on connection_aside (company_id, order_id);

-- What persons ask a shop for and the merchant has to do: to send a person's data, or to erase what the service could not.
create table connection_request (
  company_id    text not null,
  connection_id text not null,
  request_id    text not null, -- the notice's key
  kind          text not null,
  customer      text not null, -- the platform's id; empty once it is done
  asked_at      timestamptz not null,
  done_at       timestamptz,
  primary key (company_id, connection_id, request_id)
);
create index connection_request_age on connection_request (asked_at);

-- Which orders came by connections to a shop: what only we have is found by it, and what is erased when the shop asks to erase all its
-- customers. Those of a shop that is connected anew stay.
create table shop_order (
  company_id text not null,
  platform   text not null,
  shop       text not null,
  order_id   text not null,
  created_at timestamptz not null,
  erasure_id uuid, -- the erasure that its customer waits for; null: none
  no_commission boolean not null default false, -- it was last sent as one that earns nothing
  primary key (company_id, platform, shop, order_id)
);
create index shop_order_created on shop_order (company_id, platform, shop, created_at, order_id);
create index shop_order_erasure on shop_order (company_id, erasure_id) where erasure_id is not null;

-- How a shop's days compare with ours.
create table connection_day (
  company_id    text not null,
  connection_id text not null,
  day           date not null,
  shop_orders   bigint not null,
  orders        bigint not null,
  shop_total    text not null,
  total         text not null,
  missing       bigint not null,
  differ        bigint not null,
  ours_alone    bigint not null,
  compared_at   timestamptz not null,
  primary key (company_id, connection_id, day)
);

-- How a shop's coupons compare with ours.
create table connection_coupon (
  company_id    text not null,
  connection_id text not null,
  code          text not null,
  difference    text not null,
  coupon        jsonb not null, -- commerce.ShopCoupon
  checked_at    timestamptz not null,
  primary key (company_id, connection_id, code)
);
-- +goose StatementEnd
