-- +goose Up
-- A change of an additional cost counts from its day on, and a removal too: the cost
-- counts on the days from since, before until.
alter table additional_cost
  add column since date, -- null: from start_date on
  add column until date; -- null: it goes on
-- Costs that were removed before counted on no day any more, and do not now.
update additional_cost set until = start_date where deleted_at is not null;

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

-- What a store adds to, or with "-" before it takes from, the hosts through which a
-- shopper passes without arriving (commerce.Passing).
alter table company add column passing_hosts text[] not null default '{}';

-- +goose Down
alter table company drop column passing_hosts;
drop table additional_cost_version;
alter table additional_cost drop column since, drop column until;
