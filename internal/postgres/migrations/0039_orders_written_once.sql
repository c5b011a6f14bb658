-- +goose Up
-- A stored order is not written again when it is computed: when it was, and whether it is
-- its customer's first, is in its outcome's row.
drop view credit;
create table payout_new (
  total_minor      bigint not null,
  base_minor       bigint not null,
  commission_minor bigint not null, -- in the order's currency: net of the ledger, or expected while pending
  fixed_brl_minor  bigint not null default 0,
  processed_at     timestamptz not null default now(), -- when the order, who is paid for it or whether it is its customer's first last changed here
  day              date not null,
  payable_on       date,            -- null: nothing is owed
  status           smallint not null,
  is_first_order   boolean,         -- of its customer; null: not known
  company_id       text not null,
  order_id         text not null,
  currency         text not null,   -- of all amounts but fixed_brl_minor
  influencer_id    uuid,            -- null: nobody
  coupon_id        uuid,
  campaign_id      text,
  state            text not null default 'none' check (state in ('earned', 'expected', 'review', 'reversed', 'none')),
  reason           text not null default '', -- facts.Reason; '' where something is earned
  evidence         text check (evidence in ('coupon', 'link')),
  proof            text,                     -- facts.Proof of the winner's link; null: none
  names            bigint[],                 -- facts.NameDigest
  credits          text not null default '', -- of an approved order; the view credit has them as rows
  outcome_hash     bytea not null default '', -- facts.StoredOutcome.Hash: an equal one writes nothing
  explanation      bytea                     -- packed (internal/postgres/explained), without its ledger
);
insert into payout_new (total_minor, base_minor, commission_minor, fixed_brl_minor, processed_at, day, payable_on, status, is_first_order, company_id, order_id, currency,
  influencer_id, coupon_id, campaign_id, state, reason, evidence, proof, names, credits, outcome_hash, explanation)
select p.total_minor, p.base_minor, p.commission_minor, p.fixed_brl_minor, coalesce(o.processed_at, now()), p.day, p.payable_on, p.status, o.is_first_order, p.company_id, p.order_id, p.currency,
  p.influencer_id, p.coupon_id, p.campaign_id, p.state, p.reason, p.evidence, p.proof, p.names, p.credits, p.outcome_hash, p.explanation
from payout p left join orders o on o.company_id = p.company_id and o.order_id = p.order_id;
drop table payout;
alter table payout_new rename to payout;
alter table payout add primary key (company_id, order_id);
create index payout_influencer on payout (company_id, influencer_id, day) where influencer_id is not null;
create index payout_names on payout using gin (names) where names is not null;
-- What pending orders and reviews would pay is summed from these.
create index payout_waiting on payout (company_id, influencer_id) where state in ('expected', 'review');
create index payout_review on payout (company_id, order_id) where state = 'review';
-- Live views catch up by it. All rows are in it; the condition keeps it from statements that
-- do not have it too: of a table without statistics it looks as good as the primary key.
create index payout_processed on payout (company_id, processed_at) where processed_at > '-infinity';
drop index orders_processed;
alter table orders drop column is_first_order; -- processed_at is when it was stored

-- Channel credit, a row for each touch of an approved order (factstore's credit.go writes
-- the text). A model's column is null where the model leaves the touch out.
create view credit as
select p.company_id, p.order_id, c.f[1]::int as position, c.f[2] as channel,
  encode(decode(c.f[3] || '==', 'base64'), 'hex')::uuid as influencer_id,
  case when c.f[4] like '=%' then substring(c.f[4] from 2) else encode(decode(c.f[4] || '==', 'base64'), 'hex')::uuid::text end as campaign_id,
  p.currency,
  c.f[5]::bigint as first_minor, c.f[6]::bigint as last_minor, c.f[7]::bigint as last_non_direct_minor,
  c.f[8]::bigint as linear_minor, c.f[9]::bigint as position_minor, c.f[10]::bigint as time_decay_minor
from payout p
cross join lateral (select string_to_array(line, E'\x1f', '') as f from unnest(string_to_array(p.credits, E'\x1e')) as l (line)) c;

-- +goose Down
alter table orders add column is_first_order boolean;
update orders o set is_first_order = p.is_first_order, processed_at = greatest(o.processed_at, p.processed_at)
from payout p where p.company_id = o.company_id and p.order_id = o.order_id;
create index orders_processed on orders (company_id, processed_at, order_id);
drop index payout_processed;
alter table payout drop column processed_at, drop column is_first_order;
