-- +goose Up
-- Rules: what the merchant agreed with whom. Effective-dated: archiving or
-- deleting closes a rule at that instant and never reverses history.

create table influencer (
  company_id    text not null,
  influencer_id uuid not null,
  name          text not null,
  name_folded   text not null, -- commerce.FoldName: NFKC, case and accents folded
  category      text,
  rev           bigint not null,
  created_at    timestamptz not null default now(),
  archived_at   timestamptz,
  primary key (company_id, influencer_id)
);
create unique index influencer_name on influencer (company_id, name_folded) where archived_at is null;

create table campaign (
  company_id    text not null,
  campaign_id   text not null,
  influencer_id uuid not null,
  name          text not null, -- may be empty: no utm_content then
  name_folded   text not null,
  rev           bigint not null,
  created_at    timestamptz not null default now(),
  archived_at   timestamptz,
  primary key (company_id, campaign_id)
);
create index campaign_influencer on campaign (company_id, influencer_id, name_folded);

create table link (
  company_id    text not null,
  link_id       uuid not null,
  influencer_id uuid not null,
  campaign_id   text not null,
  url           text not null,
  code          text not null,
  rev           bigint not null,
  created_at    timestamptz not null default now(),
  archived_at   timestamptz,
  primary key (company_id, link_id)
);
create index link_influencer on link (company_id, influencer_id);

-- Control plane: a short code is unique over all companies.
create table short_code (
  code       text primary key,
  company_id text not null,
  link_id    uuid not null
);

create table coupon (
  company_id    text not null,
  coupon_id     uuid not null,
  influencer_id uuid not null,
  campaign_id   text not null,
  code          text not null, -- upper case, as shown
  code_folded   text not null, -- commerce.FoldCode, as matched
  period        daterange not null, -- [start, end + 1) days in the company's time zone; unbounded where absent
  rev           bigint not null,
  created_at    timestamptz not null default now(),
  deleted_at    timestamptz,
  primary key (company_id, coupon_id),
  constraint coupon_period_conflict
    exclude using gist (company_id with =, code_folded with =, period with &&) where (deleted_at is null)
);
create index coupon_code on coupon (company_id, code_folded);
create index coupon_influencer on coupon (company_id, influencer_id);

create table cost (
  company_id       text not null,
  cost_id          uuid not null,
  influencer_id    uuid not null,
  campaign_id      text, -- null: influencer-level
  fixed_fee_minor  bigint not null default 0 check (fixed_fee_minor >= 0), -- BRL cents an order
  var_fee          numeric not null default 0 check (var_fee >= 0),         -- percent
  value_minor      bigint not null default 0 check (value_minor >= 0),     -- BRL cents a frequency
  frequency        text check (frequency in ('specific', 'daily', 'weekly', 'monthly')),
  is_coupon_cost   boolean not null,
  start_date       date not null,
  end_date         date, -- inclusive
  rev              bigint not null,
  created_at       timestamptz not null default now(),
  deleted_at       timestamptz,
  primary key (company_id, cost_id),
  check (fixed_fee_minor > 0 or var_fee > 0 or value_minor > 0),
  check (value_minor = 0 or frequency is not null)
);
create index cost_influencer on cost (company_id, influencer_id);

-- Costs of running the store (rent, platforms…). They move no credit, so they
-- carry no revision.
create table additional_cost (
  company_id         text not null,
  additional_cost_id uuid not null,
  name               text not null,
  category           text not null default '',
  value_minor        bigint not null check (value_minor > 0), -- BRL cents a frequency
  frequency          text not null check (frequency in ('specific', 'daily', 'weekly', 'monthly')),
  start_date         date not null,
  end_date           date, -- inclusive
  created_at         timestamptz not null default now(),
  deleted_at         timestamptz,
  primary key (company_id, additional_cost_id),
  check (end_date >= start_date)
);

-- +goose Down
drop table additional_cost, cost, coupon, short_code, link, campaign, influencer;
