-- +goose Up
-- Completed checkouts are found by it (signs of checkouts without an order).
create index event_checkout on event_fact (company_id, event_id) where name = 'CHECKOUT_COMPLETED';

-- Reports of signs, as they were found (internal/postgres/report/signstore.go). They follow
-- from the orders and are made anew when these have changed.
create table sign_report (
  company_id text not null,
  start_date date not null,
  end_date   date not null,
  asked_at   timestamptz not null, -- last
  as_of      timestamptz not null,
  orders_at  timestamptz,          -- processed_at of the newest order then; null: there was none
  rules_rev  bigint not null,      -- of the company, then
  body       bytea not null,       -- signs.Report as JSON
  primary key (company_id, start_date, end_date)
);

-- The companies whose reports of signs were asked for: of these they are made anew.
create table sign_job (
  company_id text primary key,
  asked_at   timestamptz not null, -- last
  done_at    timestamptz not null  -- when their reports were looked at last
);

-- +goose Down
drop table sign_job, sign_report;
drop index event_checkout;
