-- +goose Up
-- Channel credit: one row for each touch of an order, every model side by side. A model's
-- column is null where the model leaves the touch out.
alter table credit rename to credit_of_model;
alter table credit_of_model rename constraint credit_pkey to credit_of_model_pkey;
create table credit (
  company_id            text not null,
  order_id              text not null,
  position              int not null, -- of the touch in the path; 0: no touch
  touch_id              uuid,         -- of its first event; null: the order's own UTM values, or no touch
  channel               text not null,
  influencer_id         uuid,
  campaign_id           text,
  currency              text not null, -- of all amounts
  first_minor           bigint,
  last_minor            bigint,
  last_non_direct_minor bigint,
  linear_minor          bigint,
  position_minor        bigint,
  time_decay_minor      bigint
);
insert into credit
select company_id, order_id, position, min(nullif(nullif(touch_id, ''), 'order'))::uuid, min(channel), min(influencer_id::text)::uuid, min(campaign_id), min(currency),
  min(amount_minor) filter (where model = 'first'), min(amount_minor) filter (where model = 'last'), min(amount_minor) filter (where model = 'last_non_direct'),
  min(amount_minor) filter (where model = 'linear'), min(amount_minor) filter (where model = 'position'), min(amount_minor) filter (where model = 'time_decay')
from credit_of_model group by company_id, order_id, position;
alter table credit add primary key (company_id, order_id, position);
drop table credit_of_model;

-- The order as the outcome was computed from it, so that the rows of an outcome say all
-- that reports count of it.
alter table payout add column day date, add column status smallint, add column currency text, add column total_minor bigint;
update payout p set day = o.day, status = o.status, currency = o.currency, total_minor = o.total_minor
from orders o where o.company_id = p.company_id and o.order_id = p.order_id;
-- Of an order that waits to be computed in another currency: the credits of an outcome
-- are in its currency.
update credit c set currency = p.currency from payout p
where p.company_id = c.company_id and p.order_id = c.order_id and p.currency <> c.currency;
alter table payout alter column day set not null, alter column status set not null, alter column currency set not null, alter column total_minor set not null;

-- +goose Down
alter table payout drop column day, drop column status, drop column currency, drop column total_minor;
alter table credit rename to credit_of_touch;
alter table credit_of_touch rename constraint credit_pkey to credit_of_touch_pkey;
create table credit (
  company_id    text not null,
  order_id      text not null,
  model         text not null,
  position      int not null,
  touch_id      text not null,
  channel       text not null,
  influencer_id uuid,
  campaign_id   text,
  amount_minor  bigint not null,
  currency      text not null,
  primary key (company_id, order_id, model, position)
);
insert into credit
select c.company_id, c.order_id, m.model, c.position, case when c.position = 0 then '' else coalesce(c.touch_id::text, 'order') end,
  c.channel, c.influencer_id, c.campaign_id, m.amount, c.currency
from credit_of_touch c cross join lateral (values ('first', c.first_minor), ('last', c.last_minor), ('last_non_direct', c.last_non_direct_minor),
  ('linear', c.linear_minor), ('position', c.position_minor), ('time_decay', c.time_decay_minor)) as m (model, amount)
where m.amount is not null;
drop table credit_of_touch;
