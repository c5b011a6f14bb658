-- +goose Up
-- Reads of a key's visitors and of a visitor's keys go by day, so that each
-- reads no more rows than its limit of visitors or keys has days. first_id and
-- last_id say between which id times the events of the row are stored; null:
-- not known, written before.
alter table sighting
  add column first_id timestamptz,
  add column last_id timestamptz,
  drop constraint sighting_pkey,
  add primary key (company_id, kind, key, day, visitor);
drop index sighting_visitor;
create index sighting_visitor on sighting (company_id, visitor, kind, day, key);

-- Why a key of an order, or a visitor it leads to (kind "reached"), joins
-- nothing: '' | orders | visitors | identities. What such a key's visitors do
-- concerns the order no more, so new events look at the others alone.
alter table order_key add column hub text not null default '';
create index order_key_joining on order_key (company_id, kind, key, created_at, order_id) where hub in ('', 'visitors');

-- Texts that shops and shoppers choose are found by a digest (facts.RuleKey).
update order_key set key = rtrim(translate(encode(substring(sha256(convert_to(key, 'UTF8')) for 16), 'base64'), '+/', '-_'), '=')
where kind in ('code', 'utm', 'link');

-- An order whose outcome cannot be stored waits aside: it ends nobody's queue.
alter table recompute add column failure text;

-- The companies that have orders in recompute: a small local queue, so that no
-- statement looks for them over all companies.
create table recompute_company (
  company_id text primary key
);

-- Outcomes say what finds them since this version: all are computed again, and
-- stored whether or not they are what they were.
update explanation set outcome_hash = '';
insert into recompute (company_id, order_id, cause)
select company_id, order_id, 'upgrade' from orders on conflict (company_id, order_id) do nothing;
insert into recompute_company (company_id)
select distinct company_id from recompute on conflict (company_id) do nothing;

-- +goose Down
drop table recompute_company;
alter table recompute drop column failure;
drop index order_key_joining;
delete from order_key where kind = 'reached';
alter table order_key drop column hub;
drop index sighting_visitor;
alter table sighting
  drop constraint sighting_pkey,
  add primary key (company_id, kind, key, visitor, day),
  drop column first_id,
  drop column last_id;
create index sighting_visitor on sighting (company_id, visitor, kind, key);
