-- +goose Up
-- An order reads a bounded number of events that anybody can send, and explains fewer of their
-- touches. All orders are computed again, part by part; an equal outcome writes nothing.
insert into recompute_span (company_id, lo, hi, cause, before_at, before_id)
select company_id, min(created_at), max(created_at), 'upgrade', max(created_at) + interval '1 second', '' from orders group by company_id
on conflict (company_id, lo, hi) do update set before_at = excluded.before_at, before_id = '';
insert into recompute_company (company_id)
select distinct company_id from orders on conflict (company_id) do nothing;

-- +goose Down
select 1;
