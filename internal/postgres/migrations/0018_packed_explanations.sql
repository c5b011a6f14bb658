-- +goose Up
-- The explanation, packed (internal/postgres/explained): its first byte says how. 0: the
-- JSON text follows, as of all that were there.
alter table explanation alter column body type bytea using '\x00'::bytea || convert_to(body::text, 'UTF8');

-- +goose Down
-- SQL cannot read the other forms: those orders are computed again.
insert into recompute (company_id, order_id, cause)
select company_id, order_id, 'upgrade' from explanation where get_byte(body, 0) <> 0 on conflict (company_id, order_id) do nothing;
insert into recompute_company (company_id)
select distinct company_id from recompute on conflict (company_id) do nothing;
update explanation set body = '\x00'::bytea || convert_to('{}', 'UTF8'), outcome_hash = '' where get_byte(body, 0) <> 0;
alter table explanation alter column body type jsonb using convert_from(substring(body from 2), 'UTF8')::jsonb;
