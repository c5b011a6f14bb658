-- +goose Up
-- Settings decide about the orders that were created while they were in force.
alter table company
  add column unproven text not null default 'review' check (unproven in ('review', 'ignore', 'pay')),
  add column hold_days int not null default 30 check (hold_days between 0 and 365);

-- The settings of before, each until an instant; those of now are the company's.
create table past_setting (
  company_id     text not null,
  until          timestamptz not null, -- exclusive, of orders' created_at
  rev            bigint not null,      -- of the change that ended them
  payout_rule    text not null,
  window_days    int not null,
  half_life_days int not null,
  ignore_direct  boolean not null,
  pay_recurring  boolean not null,
  unproven       text not null,
  hold_days      int not null,
  passing_hosts  text[] not null,
  primary key (company_id, until, rev)
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

-- Facts: what the merchant decided about an influencer's link evidence for an order.
create table evidence_decision (
  company_id    text not null,
  order_id      text not null,
  influencer_id uuid not null,
  rev           bigint not null, -- of the company's rules: the highest counts
  decision      text not null check (decision in ('accept', 'refuse', 'withdraw')),
  accepted_at   timestamptz not null,
  actor         text not null,
  primary key (company_id, order_id, influencer_id, rev)
);

-- +goose Down
drop table evidence_decision, influencer_unproven, past_setting;
alter table company drop column unproven, drop column hold_days;
