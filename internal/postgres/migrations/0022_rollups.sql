-- +goose Up
-- By which coupon an order is paid.
alter table payout add column coupon_id uuid;

-- What reports count of orders, summed by the day of createdAt in the store's time zone.
-- The processor adds what changes in the transaction in which an order changes
-- (internal/rollup). Texts that are empty are none. Sums of money are numeric: no store
-- can make them overflow.
create table sale_day (
  company_id               text not null,
  day                      date not null,
  currency                 text not null,
  influencer_id            text not null, -- who is paid
  campaign_id              text not null,
  coupon_id                text not null, -- by which coupon
  orders                   bigint not null, -- approved
  sales_minor              numeric not null,
  new_customers            bigint not null,
  returning_orders         bigint not null,
  commission_minor         numeric not null,
  pending_orders           bigint not null,
  pending_minor            numeric not null,
  pending_commission_minor numeric not null,
  cancelled_orders         bigint not null,
  cancelled_minor          numeric not null,
  review_orders            bigint not null,
  primary key (company_id, day, currency, influencer_id, campaign_id, coupon_id)
);

-- Channel credit of approved orders. Orders are sums of shares.
create table credit_day (
  company_id             text not null,
  day                    date not null,
  currency               text not null,
  channel                text not null,
  influencer_id          text not null,
  campaign_id            text not null,
  first_orders           numeric not null,
  first_minor            numeric not null,
  last_orders            numeric not null,
  last_minor             numeric not null,
  last_non_direct_orders numeric not null,
  last_non_direct_minor  numeric not null,
  linear_orders          numeric not null,
  linear_minor           numeric not null,
  position_orders        numeric not null,
  position_minor         numeric not null,
  time_decay_orders      numeric not null,
  time_decay_minor       numeric not null,
  primary key (company_id, day, currency, channel, influencer_id, campaign_id)
);

-- Items of approved orders. Sales are in units of the currency.
create table product_day (
  company_id text not null,
  day        date not null,
  currency   text not null,
  item       text not null, -- productId, else variantId, else item_id of the order's item
  orders     bigint not null,
  quantity   bigint not null,
  sales      numeric not null,
  primary key (company_id, day, currency, item)
);

-- The channels of approved orders' touches, in their order.
create table path_day (
  company_id  text not null,
  day         date not null,
  currency    text not null,
  path_id     bytea not null, -- the first 16 bytes of the SHA-256 of the channels, joined by U+001F
  path        text[] not null,
  orders      bigint not null,
  sales_minor numeric not null,
  primary key (company_id, day, currency, path_id)
);

-- Items of orders and events may name a SKU.
create index product_variant_sku on product_variant (company_id, sku) where sku is not null;

-- What is stored already.
insert into sale_day
select p.company_id, p.day, m.currency,
  case when p.state = 'review' then '' else coalesce(p.influencer_id::text, '') end, case when p.state = 'review' then '' else coalesce(p.campaign_id, '') end,
  case when p.state = 'review' then '' else coalesce(p.coupon_id::text, '') end,
  coalesce(sum(m.own) filter (where p.status = 0), 0), coalesce(sum(p.total_minor * m.own) filter (where p.status = 0), 0),
  coalesce(sum(m.own) filter (where p.status = 0 and o.is_first_order), 0),
  coalesce(sum(m.own) filter (where p.status = 0 and not o.is_first_order), 0),
  coalesce(sum(m.commission) filter (where p.state = 'earned'), 0),
  coalesce(sum(m.own) filter (where p.status = 1), 0), coalesce(sum(p.total_minor * m.own) filter (where p.status = 1), 0),
  coalesce(sum(m.commission) filter (where p.state = 'expected'), 0),
  coalesce(sum(m.own) filter (where p.status = 2), 0), coalesce(sum(p.total_minor * m.own) filter (where p.status = 2), 0),
  coalesce(sum(m.own) filter (where p.state = 'review'), 0)
from payout p
join orders o on o.company_id = p.company_id and o.order_id = p.order_id
cross join lateral (values (p.currency, p.commission_minor, 1), ('BRL', p.fixed_brl_minor, 0)) m (currency, commission, own)
where m.own = 1 or m.commission <> 0 and p.state in ('earned', 'expected')
group by 1, 2, 3, 4, 5, 6;

insert into credit_day
select c.company_id, p.day, c.currency, c.channel, coalesce(c.influencer_id::text, ''), coalesce(c.campaign_id, ''),
  coalesce(sum(case when p.total_minor = 0 then round(1.0 / c.of_first, 12) else round(c.first_minor::numeric / p.total_minor, 12) end) filter (where c.first_minor is not null), 0), coalesce(sum(c.first_minor), 0),
  coalesce(sum(case when p.total_minor = 0 then round(1.0 / c.of_last, 12) else round(c.last_minor::numeric / p.total_minor, 12) end) filter (where c.last_minor is not null), 0), coalesce(sum(c.last_minor), 0),
  coalesce(sum(case when p.total_minor = 0 then round(1.0 / c.of_non_direct, 12) else round(c.last_non_direct_minor::numeric / p.total_minor, 12) end) filter (where c.last_non_direct_minor is not null), 0), coalesce(sum(c.last_non_direct_minor), 0),
  coalesce(sum(case when p.total_minor = 0 then round(1.0 / c.of_linear, 12) else round(c.linear_minor::numeric / p.total_minor, 12) end) filter (where c.linear_minor is not null), 0), coalesce(sum(c.linear_minor), 0),
  coalesce(sum(case when p.total_minor = 0 then round(1.0 / c.of_position, 12) else round(c.position_minor::numeric / p.total_minor, 12) end) filter (where c.position_minor is not null), 0), coalesce(sum(c.position_minor), 0),
  coalesce(sum(case when p.total_minor = 0 then round(1.0 / c.of_decay, 12) else round(c.time_decay_minor::numeric / p.total_minor, 12) end) filter (where c.time_decay_minor is not null), 0), coalesce(sum(c.time_decay_minor), 0)
from (
  select c.*, count(first_minor) over o as of_first, count(last_minor) over o as of_last, count(last_non_direct_minor) over o as of_non_direct,
    count(linear_minor) over o as of_linear, count(position_minor) over o as of_position, count(time_decay_minor) over o as of_decay
  from credit c window o as (partition by c.company_id, c.order_id)) c
join payout p on p.company_id = c.company_id and p.order_id = c.order_id and p.status = 0
group by 1, 2, 3, 4, 5, 6;

insert into product_day
select company_id, day, currency, item, count(*), sum(quantity), sum(sales)
from (
  select p.company_id, p.day, p.currency, p.order_id, coalesce(nullif(i.item->>'productId', ''), nullif(i.item->>'variantId', ''), i.item->>'itemId') as item,
    sum((i.item->>'quantity')::numeric) as quantity,
    sum(coalesce((i.item->>'price')::numeric, 0) * (i.item->>'quantity')::numeric - coalesce((i.item->>'discount')::numeric, 0)) as sales
  from payout p
  join orders o on o.company_id = p.company_id and o.order_id = p.order_id
  cross join lateral jsonb_array_elements(case jsonb_typeof(o.body->'items') when 'array' then o.body->'items' else '[]' end) as i (item)
  where p.status = 0 group by 1, 2, 3, 4, 5) i
where item <> '' group by 1, 2, 3, 4;

insert into path_day
select company_id, day, currency, substring(sha256(convert_to(array_to_string(path, E'\x1f'), 'UTF8')) for 16), path, count(*), sum(total_minor)
from (
  select p.company_id, p.day, p.currency, p.order_id, p.total_minor, array_agg(c.channel order by c.position) as path
  from payout p
  join credit c on c.company_id = p.company_id and c.order_id = p.order_id and c.linear_minor is not null
  where p.status = 0 group by 1, 2, 3, 4, 5) o
group by 1, 2, 3, 4, 5;

-- Orders that are paid by a coupon are computed again, and then say by which.
update explanation e set outcome_hash = '' from payout p
where p.company_id = e.company_id and p.order_id = e.order_id and p.evidence = 'coupon';
insert into recompute (company_id, order_id, cause)
select company_id, order_id, 'upgrade' from payout where evidence = 'coupon' on conflict (company_id, order_id) do nothing;
insert into recompute_company (company_id)
select distinct company_id from recompute on conflict (company_id) do nothing;

-- +goose Down
drop index product_variant_sku;
drop table path_day, product_day, credit_day, sale_day;
alter table payout drop column coupon_id;
