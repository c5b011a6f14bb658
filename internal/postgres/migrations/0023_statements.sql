-- +goose Up
-- The least total of a statement that is paid, in units of the store's currency.
alter table company add column minimum_payout numeric not null default 0 check (minimum_payout >= 0);

-- A statement of one influencer and currency. What was asked for is there from the
-- beginning. What the processor found is null until it has closed the statement, and
-- never changes from then on.
create table statement (
  company_id    text not null,
  statement_id  uuid not null,
  rev           bigint not null, -- of the company's rules: statements are closed in this order
  influencer_id uuid not null,
  currency      text not null,
  end_date      date not null,   -- takes lines with payable_on up to this day
  minimum_minor bigint not null, -- a total below it is carried to the next statement
  asked_at      timestamptz not null,
  actor         text not null,
  closed_at     timestamptz,
  start_date    date,
  opening_minor numeric,         -- carried from the statement before
  total_minor   numeric,         -- opening_minor and the sum of its entries
  entries       bigint,          -- of the ledger
  lines         bigint,          -- orders of which it has a sum that is not zero
  carried       boolean,         -- the total is paid with the next statement
  run_id        uuid,            -- the first statement of those that are paid together with this one
  digest        bytea,           -- SHA-256 of its entries (ledger.Sum)
  primary key (company_id, statement_id)
);
create index statement_influencer on statement (company_id, influencer_id, currency, rev);
create index statement_closing on statement (company_id, rev) where closed_at is null;

create table statement_payment (
  company_id   text not null,
  statement_id uuid not null,
  rev          bigint not null,
  paid_at      timestamptz not null,
  reference    text not null,
  recorded_at  timestamptz not null,
  actor        text not null,
  primary key (company_id, statement_id)
);

-- The statement that an entry is in; null: in none yet. It is set once.
alter table ledger_entry add column statement_id uuid;
drop index ledger_payable;
create index ledger_payable on ledger_entry (company_id, influencer_id, currency, payable_on) include (amount_minor) where statement_id is null;
create index ledger_statement on ledger_entry (company_id, statement_id, order_id, entry) where statement_id is not null;
create index ledger_at on ledger_entry (company_id, at, order_id, entry);

-- What pending orders and reviews would pay is summed from these.
create index payout_waiting on payout (company_id, influencer_id) where state in ('expected', 'review');

-- +goose Down
drop index payout_waiting, ledger_at, ledger_statement, ledger_payable;
create index ledger_payable on ledger_entry (company_id, influencer_id, currency, payable_on);
alter table ledger_entry drop column statement_id;
drop table statement_payment, statement;
alter table company drop column minimum_payout;
