-- +goose Up
-- Control plane: stores, their two companies, people, keys. Every table of a
-- store's data has a primary key that starts with company_id; the exemptions
-- are named in internal/postgres/schema_test.go.
create extension if not exists btree_gist;

create table store (
  store_id   uuid primary key,
  name       text not null,
  created_at timestamptz not null default now()
);

-- A store has one company per environment; every row of its data hangs off one.
create table company (
  company_id     text primary key,
  store_id       uuid not null references store,
  environment    text not null check (environment in ('live', 'sandbox')),
  name           text not null,
  country        text not null default 'BR',                -- ISO 3166-1 alpha-2
  timezone       text not null default 'America/Sao_Paulo', -- IANA
  currency       text not null default 'BRL',               -- ISO 4217
  origins        text[] not null default '{}',
  hosts          text[] not null default '{}',
  limits         jsonb not null default '{}',
  consent_policy text not null default 'none' check (consent_policy in ('none', 'required', 'honor_gpc')),
  payout_rule    text not null default 'coupon_first' check (payout_rule in ('coupon_first', 'last_touch')),
  window_days    int not null default 30 check (window_days between 1 and 365),
  half_life_days int not null default 7 check (half_life_days between 1 and 365),
  ignore_direct  boolean not null default true,
  pay_recurring  boolean not null default false,
  rules_rev      bigint not null default 1, -- bumped, under this row's lock, by every change of a rule or setting
  created_at     timestamptz not null default now(),
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
  person_id     uuid primary key,
  email         text not null unique, -- trimmed, lower case
  password_hash text not null,        -- argon2id, PHC string
  created_at    timestamptz not null default now()
);

create table membership (
  store_id  uuid not null references store,
  person_id uuid not null references person,
  role      text not null check (role in ('owner', 'analyst')),
  primary key (store_id, person_id)
);

-- Rotating refresh tokens of dashboard sessions. A token used twice ends its family.
create table person_session (
  token_sha256 bytea primary key,
  family       uuid not null,
  person_id    uuid not null references person,
  created_at   timestamptz not null default now(),
  expires_at   timestamptz not null,
  used_at      timestamptz
);
create index person_session_family on person_session (family);

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
  detail     jsonb not null default '{}',
  primary key (company_id, audit_id)
);

-- +goose Down
drop table audit_log, outbox, person_session, membership, person, api_key, company, store;
