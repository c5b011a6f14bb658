-- +goose Up
-- Of a visitor whose id may be guessed anybody can send any number of events. Those that
-- are proven are found by what a stranger cannot send (facts.IsSecretID: an id of 36
-- characters is a UUID).
create index event_fact_cart on event_fact (company_id, visitor, (body->'identity'->>'cartKey'), at)
  where length(visitor) <> 36 and body->'identity'->>'cartKey' is not null;
create index event_fact_cookie on event_fact (company_id, visitor, (body->>'cookieId'), at)
  where length(visitor) <> 36 and body->>'cookieId' is not null;
create index event_fact_network on event_fact (company_id, visitor, (body->>'netKey'), at)
  where length(visitor) <> 36 and body->>'netKey' is not null;
create index event_fact_keyed on event_fact (company_id, visitor, at)
  where length(visitor) <> 36 and body->>'trust' in ('key', 'import');

-- Orders of which a limit left something out, or that have more touches than now count,
-- are computed again.
insert into recompute (company_id, order_id, cause)
select company_id, order_id, 'upgrade' from explanation
where coalesce(body->'cuts', '[]') <> '[]' or jsonb_array_length(body->'touches') > 1000
on conflict (company_id, order_id) do nothing;
insert into recompute_company (company_id)
select distinct company_id from recompute on conflict (company_id) do nothing;

-- +goose Down
drop index event_fact_cart, event_fact_cookie, event_fact_network, event_fact_keyed;
