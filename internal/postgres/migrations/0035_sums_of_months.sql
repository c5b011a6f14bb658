-- +goose Up
-- What product_day, path_day and traffic_day have, by month: long reports read these. month is the
-- first day of a month.
create table product_month (
  company_id text not null,
  month      date not null,
  currency   text not null,
  item       text not null,
  orders     bigint not null,
  quantity   bigint not null,
  sales      numeric not null,
  primary key (company_id, month, currency, item)
);

create table path_month (
  company_id  text not null,
  month       date not null,
  currency    text not null,
  path_id     bytea not null,
  path        text[] not null,
  orders      bigint not null,
  sales_minor numeric not null,
  primary key (company_id, month, currency, path_id)
);

-- The parts of a month's paths that the models of many paths need. Of a channel that
-- follows itself there is no step.
create table journey_month (
  company_id  text not null,
  month       date not null,
  currency    text not null,
  size        int not null,  -- 0: a step; else of paths with so many distinct channels
  before      text not null, -- of a step: from which channel; '': from the start
  channel     text not null, -- of a step: to which channel, '': none follows; else one of the path's channels
  orders      bigint not null,
  sales_minor numeric not null,
  primary key (company_id, month, currency, size, before, channel)
);

create table traffic_month (
  company_id text not null,
  month      date not null,
  of         text collate "C" not null,
  visited    bigint not null,
  viewed     bigint not null,
  added      bigint not null,
  checkout   bigint not null,
  bought     bigint not null,
  primary key (company_id, month, of)
);

-- What is stored already.
insert into traffic_month
select company_id, date_trunc('month', day)::date, of, sum(visited), sum(viewed), sum(added), sum(checkout), sum(bought) from traffic_day group by 1, 2, 3;

insert into product_month
select company_id, date_trunc('month', day)::date, currency, item, sum(orders), sum(quantity), sum(sales) from product_day group by 1, 2, 3, 4;

insert into path_month
select company_id, date_trunc('month', day)::date, currency, path_id, min(path), sum(orders), sum(sales_minor) from path_day group by 1, 2, 3, 4;

insert into journey_month
select p.company_id, p.month, p.currency, j.size, j.before, j.channel, sum(p.orders), sum(p.sales_minor)
from path_month p
cross join lateral (
  select 0 as size, coalesce(lag(c) over (order by n), '') as before, c as channel from unnest(p.path) with ordinality as u (c, n)
  union all
  select 0, p.path[cardinality(p.path)], ''
  union all
  select (select count(distinct c)::int from unnest(p.path) as u (c)), '', c from (select distinct c from unnest(p.path) as u (c)) d) j
where j.size > 0 or j.before <> j.channel
group by 1, 2, 3, 4, 5, 6;

-- +goose Down
drop table traffic_month, journey_month, path_month, product_month;
