-- +goose Up
-- Orders that are still to be put into recompute, part by part: those of a company that were
-- created in a span, the newest first. A change of settings concerns all orders.
create table recompute_span (
  company_id text not null,
  lo         timestamptz not null, -- first created_at
  hi         timestamptz not null, -- last created_at
  cause      text not null,
  before_at  timestamptz not null, -- orders before this createdAt and id are left
  before_id  text not null,
  primary key (company_id, lo, hi)
);

-- +goose Down
insert into recompute (company_id, order_id, cause)
select o.company_id, o.order_id, s.cause
from recompute_span s join orders o on o.company_id = s.company_id and o.created_at >= s.lo and (o.created_at, o.order_id) < (s.before_at, s.before_id)
on conflict (company_id, order_id) do nothing;
drop table recompute_span;
