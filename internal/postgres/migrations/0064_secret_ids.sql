-- +goose Up
-- A visitor's id proves something only where it is a random UUID (identity.SecretUUID): of
-- version 4 or 7, and with five different digits among its last 18 random ones. Any other
-- is a claim (kind 10) and no proof (kind 3).
-- +goose StatementBegin
create or replace function pg_temp.is_secret(id bytea) returns boolean language sql immutable as $$
  select get_byte(id, 7) >> 4 in (4, 7) and get_byte(id, 9) & 192 = 128
    and (select count(distinct digit) >= 5 from regexp_split_to_table(substring(encode(id, 'hex') for 3 from 16) || substring(encode(id, 'hex') from 20), '') digit)
$$;
-- +goose StatementEnd
update sighting set kind = 10 where kind = 3 and get_byte(key, 0) = 1 and not pg_temp.is_secret(key);
update order_key set kind = 10,
  digest = ('x' || encode(substring(sha256(convert_to(company_id, 'UTF8') || '\x000a'::bytea || key) for 8), 'hex'))::bit(64)::bigint & -4 | hub
where kind = 3 and get_byte(key, 0) = 1 and not pg_temp.is_secret(key);

-- What counts around a checkout changed too: every order is computed again, the newest first.
insert into recompute_span (company_id, lo, hi, cause, before_at, before_id)
select company_id, min(created_at), max(created_at), 'upgrade', max(created_at) + interval '1 microsecond', '' from orders group by company_id
on conflict (company_id, lo, hi) do update set before_at = excluded.before_at, before_id = excluded.before_id;
insert into recompute_company (company_id)
select distinct company_id from recompute_span on conflict (company_id) do nothing;

-- +goose Down
-- +goose StatementBegin
create or replace function pg_temp.is_secret(id bytea) returns boolean language sql immutable as $$
  select get_byte(id, 7) >> 4 in (4, 7) and get_byte(id, 9) & 192 = 128
    and (select count(distinct digit) >= 5 from regexp_split_to_table(substring(encode(id, 'hex') for 3 from 16) || substring(encode(id, 'hex') from 20), '') digit)
$$;
-- +goose StatementEnd
update sighting set kind = 3 where kind = 10 and get_byte(key, 0) = 1 and not pg_temp.is_secret(key);
update order_key set kind = 3,
  digest = ('x' || encode(substring(sha256(convert_to(company_id, 'UTF8') || '\x0003'::bytea || key) for 8), 'hex'))::bit(64)::bigint & -4 | hub
where kind = 10 and get_byte(key, 0) = 1 and not pg_temp.is_secret(key);
