-- +goose Up
-- +goose StatementBegin
-- Rules: what the merchant agreed with whom. Effective-dated: archiving or
-- deleting closes a rule at that instant and never reverses history.

-- The settings of before, each until an instant; those of now are the company's.
create table past_setting (
  company_id             text not null,
  until                  timestamptz not null, -- exclusive, of orders' created_at
  rev                    bigint not null,      -- of the change that ended them
  payout_rule            text not null,
  window_days            int not null,
  half_life_days         int not null,
  ignore_direct          boolean not null,
  pay_recurring          boolean not null,
  commission_without_tax boolean not null default false,
  unproven               text not null,
  self_purchase          text not null,
  hold_days              int not null,
  delivered_hold_days    int not null,
  passing_hosts          text[] not null,
  primary key (company_id, until, rev)
);

create table influencer (
  company_id    text not null,
  influencer_id uuid not null,
  name          text not null,
  name_folded   text not null, -- fold.Name: NFKC, case and accents folded
  category      text,
  rev           bigint not null,
  created_at    timestamptz not null default now(),
  archived_at   timestamptz,
  primary key (company_id, influencer_id)
);
create unique index influencer_name on influencer (company_id, name_folded) where archived_at is null;

-- The names that influencers had before they were renamed. They stay theirs: a visit by one is theirs, and nobody else can take
-- it. The present name is here too where it was given up once.
create table former_name (
  company_id    text not null,
  name_folded   text not null, -- fold.Name of name
  influencer_id uuid not null,
  name          text not null, -- as it was written
  rev           bigint not null,
  primary key (company_id, name_folded)
);
create index former_name_influencer on former_name (company_id, influencer_id);

-- Personal data of influencers stand here and, as closed statements print them, in statement_party. A row only where something
-- of one is known. Of what says where money goes it has when and by whom each last changed, and null for never.
create table influencer_personal (
  company_id    text not null,
  influencer_id uuid not null,
  email         text not null default '',
  phone         text not null default '', -- E.164
  document      text not null default '', -- CPF or CNPJ without signs between its groups
  pix_type      text not null default '' check (pix_type in ('', 'cpf', 'cnpj', 'phone', 'email', 'random')),
  pix_key       text not null default '' check ((pix_key = '') = (pix_type = '')),
  handles       text[] not null default '{}',
  notes         text not null default '',
  email_at      timestamptz,
  email_by      text,
  email_before  text not null default '', -- the former one: of several changes within 30 days the first one's
  document_at   timestamptz,
  document_by   text,
  pix_at        timestamptz,
  pix_by        text,
  pix_confirmed_at timestamptz, -- when and by whom the key was confirmed since then, or set first; null: it was not
  pix_confirmed_by text,
  primary key (company_id, influencer_id)
);

-- By which keyed hashes an order names the influencer as its own customer, each from one instant to another. A key that many
-- orders had when it was added is shared: it names nobody. Nor does one that another influencer has too, as long as both
-- have it.
create table influencer_identity (
  company_id    text not null,
  influencer_id uuid not null,
  kind          smallint not null,    -- facts.KeyKind.Code
  key           bytea not null,       -- packed.ID
  since         timestamptz not null, -- of orders' created_at
  until         timestamptz,          -- exclusive; null: it goes on
  field         text not null,        -- of influencer_personal, of which it is made
  shared        boolean not null,
  others        boolean not null,     -- another influencer who is not archived has it too
  rev           bigint not null,
  primary key (company_id, influencer_id, kind, key, since)
);
create index influencer_identity_key on influencer_identity (company_id, kind, key);

-- Of which orders an influencer is the customer, kept before the keys that show it are erased.
create table self_purchase (
  company_id    text not null,
  order_id      text not null,
  influencer_id uuid not null,
  primary key (company_id, order_id, influencer_id)
);

-- An influencer's own setting, since an instant; null: the store's.
create table influencer_unproven (
  company_id    text not null,
  influencer_id uuid not null,
  since         timestamptz not null, -- of orders' created_at
  rev           bigint not null,
  unproven      text check (unproven in ('review', 'ignore', 'pay')),
  primary key (company_id, influencer_id, since, rev)
);

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
  code_folded   text not null, -- fold.Code, as matched
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
  owed_from        date, -- the value is owed from this day on; null: there is none
  until            date, -- the first day on which the value is owed no more: it was removed, or another is in its place; null: it goes on
  rev              bigint not null,
  created_at       timestamptz not null default now(),
  deleted_at       timestamptz,
  primary key (company_id, cost_id),
  check (fixed_fee_minor > 0 or var_fee > 0 or value_minor > 0),
  check (value_minor = 0 or frequency is not null)
);
create index cost_influencer on cost (company_id, influencer_id);
create index cost_agreement on cost (company_id, influencer_id) where owed_from is not null;

-- Costs of running the store (rent, platforms…). They move no credit, so they
-- carry no revision. A change counts from its day on, and a removal too.
create table additional_cost (
  company_id         text not null,
  additional_cost_id uuid not null,
  name               text not null,
  category           text not null default '',
  value_minor        bigint not null check (value_minor > 0), -- BRL cents a frequency
  frequency          text not null check (frequency in ('specific', 'daily', 'weekly', 'monthly')),
  start_date         date not null,
  end_date           date, -- inclusive
  since              date, -- the first day on which it counts as it is; null: start_date
  until              date, -- the first day on which it counts no more; null: it goes on
  created_at         timestamptz not null default now(),
  deleted_at         timestamptz,
  primary key (company_id, additional_cost_id),
  check (end_date >= start_date)
);

-- What an additional cost was before its changes.
create table additional_cost_version (
  company_id         text not null,
  additional_cost_id uuid not null,
  until              date not null, -- the day of the change that ended it
  since              date,
  name               text not null,
  category           text not null,
  value_minor        bigint not null,
  frequency          text not null,
  start_date         date not null,
  end_date           date,
  created_at         timestamptz not null, -- the cost's
  primary key (company_id, additional_cost_id, until)
);

-- What the merchant decided about an influencer and an order: about the link evidence, or in a dispute.
create table evidence_decision (
  company_id    text not null,
  order_id      text not null,
  influencer_id uuid not null,
  rev           bigint not null, -- of the company's rules: the highest counts
  decision      text not null check (decision in ('accept', 'refuse', 'withdraw', 'assign', 'deny', 'release')),
  touches       text not null default '', -- the event ids of the touches that it accepted, joined by commas
  accepted_at   timestamptz not null,
  actor         text not null,
  reason        text not null default '', -- in the merchant's words
  confirmed_by  text not null default '', -- the second person, where the store wants one
  primary key (company_id, order_id, influencer_id, rev)
);

-- Decisions that count once a second person confirms them: one for each order, and one for the company (order_id '') to turn that
-- rule off. Each ends by itself (commerce.ProposalLife); the audit log keeps what became of it.
create table proposal (
  company_id    text not null,
  order_id      text not null,
  influencer_id uuid,
  decision      text not null check (decision in ('accept', 'refuse', 'withdraw', 'assign', 'deny', 'release', 'rule_off')),
  touches       text not null default '', -- as evidence_decision's
  reason        text not null default '',
  moves         jsonb, -- what it would have moved when it was proposed; null: not known
  proposed_at   timestamptz not null,
  proposed_by   text not null,
  primary key (company_id, order_id),
  check ((order_id = '') = (decision = 'rule_off') and (influencer_id is null) = (decision = 'rule_off'))
);
-- +goose StatementEnd
