-- +goose Up
-- A link after the checkout no longer hinders the order's own UTM values. Of the orders
-- that it may concern, each waits in review for such a link: they are computed again.
insert into recompute (company_id, order_id, cause)
select company_id, order_id, 'upgrade' from payout where reason = 'after_checkout'
on conflict (company_id, order_id) do nothing;
insert into recompute_company (company_id)
select distinct company_id from recompute on conflict (company_id) do nothing;

-- +goose Down
select 1;
