-- +goose Up
-- Amounts are in minor units of ISO 4217's own digits. These currencies had fewer
-- (facts.fewerDigits); amounts keep their value: 1500 COP was 1500 and is 150000.
create temporary table more_digits (currency text primary key, factor bigint not null) on commit drop;
insert into more_digits
select c, case c when 'IQD' then 1000 else 100 end from unnest(array[
  'AFN', 'ALL', 'AMD', 'COP', 'GYD', 'IDR', 'IQD', 'IRR', 'KPW', 'LAK', 'LBP', 'MGA', 'MMK', 'MNT',
  'MRO', 'MUR', 'PKR', 'RSD', 'SLL', 'SOS', 'STD', 'SYP', 'TZS', 'UZS', 'YER']) c;

-- An order's body with its amounts times a factor. What is absent or null stays so.
-- +goose StatementBegin
create function pg_temp.times(body jsonb, factor bigint) returns jsonb language sql immutable as $$
  select body || coalesce((
    select jsonb_object_agg(name, (body->>name)::bigint * factor)
    from unnest(array['totalMinor', 'discountsMinor', 'shippingMinor']) name
    where jsonb_typeof(body->name) = 'number'), '{}')
$$;
-- +goose StatementEnd
update order_version v set body = pg_temp.times(v.body, m.factor) from more_digits m where m.currency = v.body->>'currency';
update payout p set base_minor = p.base_minor * m.factor, commission_minor = p.commission_minor * m.factor
from orders o join more_digits m on m.currency = o.currency where p.company_id = o.company_id and p.order_id = o.order_id;
update orders o set total_minor = o.total_minor * m.factor, shipping_minor = o.shipping_minor * m.factor, body = pg_temp.times(o.body, m.factor)
from more_digits m where m.currency = o.currency;
update credit c set amount_minor = c.amount_minor * m.factor from more_digits m where m.currency = c.currency;
update ledger_entry l set amount_minor = l.amount_minor * m.factor from more_digits m where m.currency = l.currency;

-- Codes and names are compared without more invisible characters (commerce.strip), and
-- codes with a sharp s as SS. What was folded before needs only these steps.
-- +goose StatementBegin
create function pg_temp.visible(folded text) returns text language sql immutable as $$
  select normalize(regexp_replace(folded,
    E'[\u034F\u115F\u1160\u17B4\u17B5\u180B-\u180D\u180F\u2065\u2800\u3164\uFE00-\uFE0F\uFFA0\uFFF0-\uFFF8\U000E0100-\U000E01EF]', '', 'g'), NFKC)
$$;
-- +goose StatementEnd
-- +goose StatementBegin
create function pg_temp.fold_code(folded text) returns text language sql immutable as $$
  select replace(replace(btrim(pg_temp.visible(folded)), 'ß', 'SS'), 'ẞ', 'SS')
$$;
-- +goose StatementEnd
-- +goose StatementBegin
create function pg_temp.fold_name(folded text) returns text language sql immutable as $$
  select btrim(regexp_replace(regexp_replace(folded, E'[\u115F\u1160\u2800]', '', 'g'), ' +', ' ', 'g'))
$$;
-- +goose StatementEnd

-- Two live coupons may have one code now, and the code can be one influencer's only:
-- that of the coupon which was always written so, else of the one made first. The
-- other coupon ends, keeps how it was folded, and the audit log says so.
create temporary table refolded on commit drop as
select company_id, coupon_id, period, created_at, deleted_at, code_folded <> pg_temp.fold_code(code_folded) as changes, pg_temp.fold_code(code_folded) as folded
from coupon;
create temporary table displaced on commit drop as
select c.company_id, c.coupon_id from refolded c
where c.changes and c.deleted_at is null and (c.folded = '' or exists (
  select from refolded o
  where o.company_id = c.company_id and o.folded = c.folded and o.period && c.period and o.deleted_at is null and o.coupon_id <> c.coupon_id
    and (not o.changes or (o.created_at, o.coupon_id) < (c.created_at, c.coupon_id))));
insert into audit_log (company_id, audit_id, actor, action, subject, detail)
select c.company_id, (lpad(to_hex((extract(epoch from now()) * 1000)::bigint), 12, '0') || '7' || substr(md5(random()::text), 1, 3)
    || '8' || substr(md5(random()::text), 1, 15))::uuid, 'migration 0008', 'coupon.delete', c.coupon_id::text,
  jsonb_build_object('code', c.code, 'reason', 'another coupon has this code, now that characters which nobody sees do not count')
from coupon c join displaced d on d.company_id = c.company_id and d.coupon_id = c.coupon_id;
update company c set rules_rev = c.rules_rev + 1 where exists (select from displaced d where d.company_id = c.company_id);
update coupon c set deleted_at = now(), rev = w.rules_rev
from displaced d join company w on w.company_id = d.company_id
where c.company_id = d.company_id and c.coupon_id = d.coupon_id;
update coupon c set code_folded = r.folded from refolded r
where r.changes and r.folded <> '' and c.company_id = r.company_id and c.coupon_id = r.coupon_id
  and not exists (select from displaced d where d.company_id = c.company_id and d.coupon_id = c.coupon_id);

-- Of two live influencers with one name the one that was always written so has it,
-- else the one registered first. The other keeps how it was folded: its links, coupons
-- and costs stay, and no utm_campaign names it.
update influencer i set name_folded = pg_temp.fold_name(i.name_folded)
where i.name_folded <> pg_temp.fold_name(i.name_folded) and pg_temp.fold_name(i.name_folded) <> '' and (i.archived_at is not null or not exists (
  select from influencer o
  where o.company_id = i.company_id and o.influencer_id <> i.influencer_id and o.archived_at is null
    and pg_temp.fold_name(o.name_folded) = pg_temp.fold_name(i.name_folded)
    and (o.name_folded = pg_temp.fold_name(o.name_folded) or (o.created_at, o.influencer_id) < (i.created_at, i.influencer_id))));
update campaign set name_folded = pg_temp.fold_name(name_folded) where name_folded <> pg_temp.fold_name(name_folded);

-- Orders are found by digests of their codes.
insert into order_key (company_id, kind, key, created_at, order_id)
select distinct o.company_id, 'code', rtrim(translate(encode(substring(sha256(convert_to(f.folded, 'UTF8')) for 16), 'base64'), '+/', '-_'), '='), o.created_at, o.order_id
from orders o
cross join lateral (
  select o.body->>'discountCode' as part union all select regexp_split_to_table(o.body->>'discountCode', '[,;|]')) p
cross join lateral (select pg_temp.fold_code(upper(normalize(p.part, NFKC))) as folded) f
where p.part ~ E'[ßẞ\u034F\u115F\u1160\u17B4\u17B5\u180B-\u180D\u180F\u2800\u3164\uFE00-\uFE0F\uFFA0\U000E0100-\U000E01EF]' and f.folded <> ''
on conflict (company_id, kind, key, created_at, order_id) do nothing;

-- Touches, campaigns, channels, costs and first orders are decided by new rules: all
-- orders are computed again.
update explanation set outcome_hash = '';
insert into recompute (company_id, order_id, cause)
select company_id, order_id, 'upgrade' from orders on conflict (company_id, order_id) do nothing;
insert into recompute_company (company_id)
select distinct company_id from recompute on conflict (company_id) do nothing;

-- +goose Down
-- Amounts, codes and names stay as they are: what was before cannot be told from them.
select 1;
