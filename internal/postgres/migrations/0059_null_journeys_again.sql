-- +goose Up
-- From which day on null journeys may be counted: those of the days before read events that may be
-- removed. It is as long after begun_until as the longest window and its margin are.
alter table retention add column nulls_from date;
update retention r set nulls_from = (r.begun_until at time zone 'UTC')::date + 4 +
  greatest((select c.window_days from company c where c.company_id = r.company_id), (select max(p.window_days) from past_setting p where p.company_id = r.company_id));
alter table retention alter column nulls_from set not null;

-- How often, one time soon after the other, a final day was counted again.
alter table null_day add column recounts smallint not null default 0;

-- +goose Down
alter table null_day drop column recounts;
alter table retention drop column nulls_from;
