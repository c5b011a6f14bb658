-- +goose Up
-- What an order's outcome leaves is one row: its explanation and its credits are columns of
-- payout. The columns stand so that no row has bytes between them.
create table payout_new (
  total_minor      bigint not null,
  base_minor       bigint not null,
  commission_minor bigint not null, -- in the order's currency: net of the ledger, or expected while pending
  fixed_brl_minor  bigint not null default 0,
  day              date not null,
  payable_on       date,            -- null: nothing is owed
  status           smallint not null,
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
insert into payout_new (total_minor, base_minor, commission_minor, fixed_brl_minor, day, payable_on, status, company_id, order_id, currency,
  influencer_id, coupon_id, campaign_id, state, reason, evidence, proof, names, credits, outcome_hash, explanation)
select p.total_minor, p.base_minor, p.commission_minor, p.fixed_brl_minor, p.day, p.payable_on, p.status, p.company_id, p.order_id, p.currency,
  p.influencer_id, p.coupon_id, p.campaign_id, p.state, p.reason, p.evidence, p.proof, p.names, coalesce(c.credits, ''), coalesce(substring(e.outcome_hash for 16), ''), e.body
from payout p
left join explanation e on e.company_id = p.company_id and e.order_id = p.order_id
left join (
  select company_id, order_id, string_agg(concat_ws(E'\x1f', position, channel,
      coalesce(rtrim(encode(uuid_send(influencer_id), 'base64'), '='), ''),
      case when campaign_id is null then ''
        when campaign_id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then rtrim(encode(uuid_send(campaign_id::uuid), 'base64'), '=')
        else '=' || campaign_id end,
      coalesce(first_minor::text, ''), coalesce(last_minor::text, ''), coalesce(last_non_direct_minor::text, ''),
      coalesce(linear_minor::text, ''), coalesce(position_minor::text, ''), coalesce(time_decay_minor::text, '')), E'\x1e' order by position) as credits
  from credit group by company_id, order_id) c on c.company_id = p.company_id and c.order_id = p.order_id;
drop table credit, explanation, payout;
alter table payout_new rename to payout;
alter table payout add primary key (company_id, order_id);
create index payout_influencer on payout (company_id, influencer_id, day) where influencer_id is not null;
create index payout_names on payout using gin (names) where names is not null;
-- What pending orders and reviews would pay is summed from these.
create index payout_waiting on payout (company_id, influencer_id) where state in ('expected', 'review');
create index payout_review on payout (company_id, order_id) where state = 'review';

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

-- Many rows of the same batch have equal keys in these: of such, an index stores one.
drop index orders_processed, orders_day, orders_created, ledger_at;
create index orders_processed on orders (company_id, processed_at);
create index orders_day on orders (company_id, day);
create index orders_created on orders (company_id, created_at);
create index ledger_at on ledger_entry (company_id, at);

-- Of these digests the first bytes suffice.
alter table order_version alter column content_hash type bytea using substring(content_hash for 16);
alter table order_personal alter column digest type bytea using substring(digest for 8);

-- +goose Down
drop index orders_processed, orders_day, orders_created, ledger_at;
create index orders_processed on orders (company_id, processed_at, order_id);
create index orders_day on orders (company_id, day, created_at);
create index orders_created on orders (company_id, created_at, order_id);
create index ledger_at on ledger_entry (company_id, at, order_id, entry);
create table credit_of_touch (
  company_id            text not null,
  order_id              text not null,
  position              int not null,
  touch_id              uuid,
  channel               text not null,
  influencer_id         uuid,
  campaign_id           text,
  currency              text not null,
  first_minor           bigint,
  last_minor            bigint,
  last_non_direct_minor bigint,
  linear_minor          bigint,
  position_minor        bigint,
  time_decay_minor      bigint
);
insert into credit_of_touch
select company_id, order_id, position, null, channel, influencer_id, campaign_id, currency, first_minor, last_minor, last_non_direct_minor, linear_minor, position_minor, time_decay_minor
from credit;
drop view credit;
alter table credit_of_touch rename to credit;
alter table credit add primary key (company_id, order_id, position);
create table explanation (
  company_id   text not null,
  order_id     text not null,
  body         bytea not null,
  outcome_hash bytea not null default '',
  primary key (company_id, order_id)
);
-- Which event a touch is, is not stored any more: the program before computes the orders
-- again, and writes it. It cannot read the newer form of an explanation.
insert into explanation
select company_id, order_id, case when get_byte(explanation, 0) <= 1 then explanation else '\x00'::bytea || convert_to('{}', 'UTF8') end, ''
from payout where explanation is not null;
insert into recompute (company_id, order_id, cause)
select company_id, order_id, 'upgrade' from payout on conflict (company_id, order_id) do nothing;
insert into recompute_company (company_id)
select distinct company_id from recompute on conflict (company_id) do nothing;
alter table payout drop column credits, drop column outcome_hash, drop column explanation;
