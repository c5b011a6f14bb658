-- +goose Up
-- older programs go on: they make and drop the months themselves, as the tables' owner.
-- The months of event_fact are made and dropped by these functions, with the rights of the tables' owner: so a
-- service's own role needs no right to change the schema.

-- +goose StatementBegin
create function make_event_month(month date) returns void language plpgsql security definer as $$
declare
  first timestamp := make_date(extract(year from month)::int, extract(month from month)::int, 1);
  -- facts.FirstID: a version 7 id begins with 48 bits of milliseconds.
  from_id uuid := (lpad(to_hex((extract(epoch from first) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;
  to_id uuid := (lpad(to_hex((extract(epoch from first + interval '1 month') * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;
begin
  if month not between '2000-01-01' and '2100-12-31' then
    raise exception 'no month of events: %', month;
  end if;
  execute format('create table %I partition of event_fact for values from (%L) to (%L)', 'event_fact_' || to_char(first, 'YYYY_MM'), from_id, to_id);
end $$;
-- +goose StatementEnd

-- It drops a month without events, and tells whether it did. Where others use the table, it waits two seconds.
-- +goose StatementBegin
create function drop_event_month(month date) returns boolean language plpgsql security definer as $$
declare
  name text := 'event_fact_' || to_char(month, 'YYYY_MM');
  events boolean;
begin
  if to_regclass(name) is null then
    return false;
  end if;
  execute format('select exists (select from %I)', name) into events;
  if events then
    return false;
  end if;
  perform set_config('lock_timeout', '2s', true);
  lock table event_fact in access exclusive mode; -- the parent first, as inserts do: so two cannot wait for each other
  execute format('select exists (select from %I)', name) into events;
  if not events then
    execute format('drop table %I', name);
  end if;
  return not events;
end $$;
-- +goose StatementEnd

-- Nobody can put tables or functions of their own before those of this schema.
-- +goose StatementBegin
do $$ declare name text; begin
  foreach name in array array['make_event_month', 'drop_event_month'] loop
    execute format('alter function %I(date) set search_path = %I, pg_temp', name, current_schema());
    execute format('revoke all on function %I(date) from public', name);
  end loop;
end $$;
-- +goose StatementEnd

-- +goose Down
drop function drop_event_month(date);
drop function make_event_month(date);
