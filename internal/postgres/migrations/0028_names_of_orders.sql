-- +goose Up
-- Changed rules alone look for orders by the names, codes and influencers of their
-- touches. One row of an order has them all, as digests (facts.NameDigest), of which each
-- has the company in it: the index need not begin with it.
alter table payout add column names bigint[];
update payout p set names = k.names
from (
  select company_id, order_id, array_agg(distinct ('x' || encode(substring(sha256(convert_to(company_id, 'UTF8') || '\x00'::bytea || set_byte('\x00'::bytea, 0, kind::int) || key) for 8), 'hex'))::bit(64)::bigint) as names
  from order_key where kind in (33, 34, 35) group by company_id, order_id) k
where k.company_id = p.company_id and k.order_id = p.order_id;
create index payout_names on payout using gin (names) where names is not null;
delete from order_key where kind in (33, 34, 35);

-- An order that has a verified key (5) has the key that it holds.
delete from order_key where kind = 5;
-- A visitor (11) whose id is a key of the order (3) finds the order by that.
delete from order_key r using order_key o
where r.kind = 11 and o.company_id = r.company_id and o.order_id = r.order_id and o.kind = 3 and o.key = r.key and o.hub = 0;

-- Lists of an influencer's orders, the newest first.
drop index payout_influencer;
create index payout_influencer on payout (company_id, influencer_id, day) where influencer_id is not null;

-- +goose Down
drop index payout_influencer;
create index payout_influencer on payout (company_id, influencer_id);
-- A digest does not say what it is of: the program before computes the orders again. The
-- other keys follow from those that are there, but verified ones are of every claimed key
-- (6 to 10) in base64url.
alter table payout drop column names;
insert into order_key (company_id, kind, key, hub, created_at, order_id)
select k.company_id, 5, '\x03'::bytea || substring(sha256(convert_to(n.name || ':' || case get_byte(k.key, 0)
    when 0 then convert_from(substring(k.key from 2), 'UTF8')
    when 1 then encode(substring(k.key from 2 for 4), 'hex') || '-' || encode(substring(k.key from 6 for 2), 'hex') || '-' || encode(substring(k.key from 8 for 2), 'hex')
      || '-' || encode(substring(k.key from 10 for 2), 'hex') || '-' || encode(substring(k.key from 12), 'hex')
    else case get_byte(k.key, 0) when 2 then 'k1:' when 3 then '' when 4 then 'key:' else 'd1:' end
      || rtrim(translate(replace(encode(substring(k.key from 2), 'base64'), E'\n', ''), '+/', '-_'), '=')
    end, 'UTF8')) for 16), 0, k.created_at, k.order_id
from order_key k join (values (6, 'customer'), (7, 'email'), (8, 'phone'), (9, 'cart_no'), (10, 'user')) n (kind, name) on n.kind = k.kind
on conflict (company_id, kind, key, hub, created_at, order_id) do nothing;
insert into recompute (company_id, order_id, cause)
select company_id, order_id, 'upgrade' from explanation on conflict (company_id, order_id) do nothing;
insert into recompute_company (company_id)
select distinct company_id from recompute on conflict (company_id) do nothing;
update explanation set outcome_hash = '';
