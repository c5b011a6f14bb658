-- +goose Up
-- Proof (docs/attribution.md, "Proof"): the kinds of keys that strangers cannot
-- make stand apart from those that anybody can claim.

-- Of kind network the day is the hour in which the event was received.
alter table sighting alter column day type timestamptz using (day::timestamp at time zone 'UTC');

-- A late event is read for nothing, so no index finds it; a backend's event
-- without a visitor is a visitor of its own, named by its strongest key.
update event_fact set visitor = null
where visitor is not null and coalesce(body->>'trust', '') not in ('', 'import') and received_at - at > interval '7 days';
update event_fact e set visitor = 'key:' || rtrim(translate(encode(substring(sha256(convert_to(k.named, 'UTF8')) for 16), 'base64'), '+/', '-_'), '=')
from event_fact f cross join lateral (
  select coalesce('cart:' || (f.body->'identity'->>'cartKey'), 'customer:' || (f.body->'identity'->>'customerKey'), 'email:' || (f.body->'identity'->>'emailKey'),
    'phone:' || (f.body->'identity'->>'phoneKey'), 'cart_no:' || (f.body->'identity'->>'cartNoKey')) as named) k
where e.company_id = f.company_id and e.id_time = f.id_time and e.event_id = f.event_id
  and f.visitor is null and k.named is not null and (f.body->>'trust' = 'import' or f.body->>'trust' = 'key' and f.received_at - f.at <= interval '7 days');

-- Sightings are made anew of all events (facts.Event.Keys).
delete from sighting;
insert into sighting (company_id, kind, key, visitor, day, first_at, last_at, first_id, last_id)
with seen as (
  select e.company_id, e.visitor, e.at, e.received_at, e.id_time, e.body->>'trust' in ('key', 'import') as keyed, (e.body->'identity'->>'verified')::boolean as verified,
    e.body->>'netKey' as net, k.kind, case when octet_length(k.key) > 512 then 'd1:' || rtrim(translate(encode(substring(sha256(convert_to(k.key, 'UTF8')) for 16), 'base64'), '+/', '-_'), '=') else k.key end as key, k.claimed
  from event_fact e
  cross join lateral (values
    ('cart', e.body->'identity'->>'cartKey', false), ('cookie', e.body->>'cookieId', false),
    (case when e.visitor ~ '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' then 'visitor' else 'user' end, e.visitor, e.visitor !~ '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$'),
    ('customer', e.body->'identity'->>'customerKey', true), ('email', e.body->'identity'->>'emailKey', true),
    ('phone', e.body->'identity'->>'phoneKey', true), ('cart_no', e.body->'identity'->>'cartNoKey', true)) k (kind, key, claimed)
  where e.visitor is not null and e.bot = 'none' and k.key <> ''
), keys as (
  select company_id, kind, key, visitor, date_trunc('day', at, 'UTC') as day, at, id_time from seen
  union all
  select company_id, 'verified', rtrim(translate(encode(substring(sha256(convert_to(kind || ':' || key, 'UTF8')) for 16), 'base64'), '+/', '-_'), '='), visitor, date_trunc('day', at, 'UTC'), at, id_time from seen where claimed and keyed and verified
  union all
  select company_id, 'network', rtrim(translate(encode(substring(sha256(convert_to(kind || ':' || key || ' ' || net, 'UTF8')) for 16), 'base64'), '+/', '-_'), '='), visitor, date_trunc('hour', received_at, 'UTC'), received_at, id_time
  from seen where claimed and keyed is not true and net <> ''
)
select company_id, kind, key, visitor, day, min(at), max(at), min(id_time), max(id_time) from keys
group by company_id, kind, key, visitor, day;

-- So are the keys that join orders (facts.OrderKeys).
delete from order_key where kind in ('cart', 'visitor', 'customer', 'email', 'phone');
insert into order_key (company_id, kind, key, created_at, order_id)
with had as (
  select o.company_id, o.order_id, o.created_at, o.body->>'netKey' as net, k.kind, case when octet_length(k.key) > 512 then 'd1:' || rtrim(translate(encode(substring(sha256(convert_to(k.key, 'UTF8')) for 16), 'base64'), '+/', '-_'), '=') else k.key end as key, k.claimed
  from orders o
  cross join lateral (values
    ('cart', o.body->>'cartKey', false),
    (case when o.body->>'userIdMac' = 'valid' then 'cookie' when o.body->>'userIdMac' is null and o.body->>'userId' ~ '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' then 'visitor' else 'user' end, o.body->>'userId',
      coalesce(o.body->>'userIdMac', '') <> 'valid' and (o.body->>'userIdMac' = 'invalid' or o.body->>'userId' !~ '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$')),
    ('customer', o.body->>'customerKey', true), ('email', o.body->>'emailKey', true),
    ('phone', o.body->>'phoneKey', true), ('cart_no', o.body->>'cartNoKey', true)) k (kind, key, claimed)
  where k.key <> ''
)
select company_id, kind, key, created_at, order_id from had
union all
select company_id, 'verified', rtrim(translate(encode(substring(sha256(convert_to(kind || ':' || key, 'UTF8')) for 16), 'base64'), '+/', '-_'), '='), created_at, order_id from had where claimed
union all
select company_id, 'network', rtrim(translate(encode(substring(sha256(convert_to(kind || ':' || key || ' ' || net, 'UTF8')) for 16), 'base64'), '+/', '-_'), '='), created_at, order_id from had where claimed and net <> '';

-- Why a payout is what it is, and from which day it may be paid.
alter table payout
  add column state text not null default 'none' check (state in ('earned', 'expected', 'review', 'reversed', 'none')),
  add column reason text not null default '', -- facts.Reason; '' where something is earned
  add column proof text,                      -- facts.Proof of the winner's link; null: none
  add column payable_on date;                 -- null: nothing is owed

-- Entries of before are held for 30 days, as all of their orders are.
alter table ledger_entry add column payable_on date;
update ledger_entry l set payable_on = (l.at at time zone c.timezone)::date + 30 from company c where c.company_id = l.company_id;
alter table ledger_entry alter column payable_on set not null;
create index ledger_payable on ledger_entry (company_id, influencer_id, currency, payable_on);

-- When the unbroken run of approved versions began that the newest belongs to;
-- null: the newest is not approved.
alter table orders add column approved_since timestamptz;
update orders o set approved_since = r.since
from (
  select company_id, order_id, min(version_at) as since
  from (
    select company_id, order_id, version_at, sum(case when body->>'orderStatus' = '0' then 0 else 1 end)
      over (partition by company_id, order_id order by version_at desc, accepted_at desc, content_hash desc) as others
    from order_version) v
  where others = 0 group by company_id, order_id) r
where r.company_id = o.company_id and r.order_id = o.order_id;

-- All outcomes are computed again, and stored whether or not they are what they were.
update explanation set outcome_hash = '';
insert into recompute (company_id, order_id, cause)
select company_id, order_id, 'upgrade' from orders on conflict (company_id, order_id) do nothing;
insert into recompute_company (company_id)
select distinct company_id from recompute on conflict (company_id) do nothing;

-- +goose Down
alter table orders drop column approved_since;
drop index ledger_payable;
alter table ledger_entry drop column payable_on;
alter table payout drop column state, drop column reason, drop column proof, drop column payable_on;
-- The version before had one kind for two: of two equal keys one stays.
delete from order_key where kind in ('network', 'verified');
delete from order_key k where kind in ('cookie', 'user', 'cart_no') and exists (
  select from order_key o where o.company_id = k.company_id and o.key = k.key and o.created_at = k.created_at and o.order_id = k.order_id
    and (o.kind = case when k.kind = 'cart_no' then 'cart' else 'visitor' end));
update order_key set kind = case when kind = 'cart_no' then 'cart' else 'visitor' end where kind in ('cookie', 'user', 'cart_no');
delete from sighting where kind in ('network', 'verified');
delete from sighting s where kind in ('cookie', 'user', 'cart_no') and exists (
  select from sighting o where o.company_id = s.company_id and o.key = s.key and o.day = s.day and o.visitor = s.visitor
    and (o.kind = case when s.kind = 'cart_no' then 'cart' when s.kind = 'cookie' then 'user' else 'visitor' end
      or s.kind = 'cookie' and o.kind = 'visitor'));
update sighting set kind = case when kind = 'cart_no' then 'cart' else 'visitor' end where kind in ('cookie', 'user', 'cart_no');
alter table sighting alter column day type date using (day at time zone 'UTC')::date;
