-- +goose Up
-- A change of an additional cost counts from its day on: what was before stays a
-- version of its own, which counts on the days from since, until before until. Without
-- until it is the current one.
alter table additional_cost
  add column version int not null default 1,
  add column since date, -- null: from start_date on
  add column until date,
  drop constraint additional_cost_pkey,
  add primary key (company_id, additional_cost_id, version);

-- Costs that were removed before counted on no day any more, and do not now.
update additional_cost set until = start_date where deleted_at is not null;

-- +goose Down
delete from additional_cost where until is not null and deleted_at is null;
alter table additional_cost
  drop constraint additional_cost_pkey,
  add primary key (company_id, additional_cost_id),
  drop column version,
  drop column since,
  drop column until;
