-- event_fact as migrations 0003 to 0014 made it, for the way back from 0015.
create table event_fact (
  company_id   text not null,
  id_time      timestamptz not null,
  event_id     uuid not null,
  name         text not null,
  at           timestamptz not null,
  received_at  timestamptz not null,
  digest       bytea not null,
  visitor      text,
  bot          text not null,
  via          text not null,
  body         jsonb not null,
  arrived      boolean not null default false,
  primary key (company_id, id_time, event_id)
) partition by range (id_time);
create table event_fact_default partition of event_fact default;
create index event_fact_visitor on event_fact (company_id, visitor, at) where visitor is not null;
create index event_fact_arrived on event_fact (company_id, visitor, at) where arrived and visitor is not null;
create index event_fact_cart on event_fact (company_id, visitor, (body->'identity'->>'cartKey'), at)
  where length(visitor) <> 36 and body->'identity'->>'cartKey' is not null;
create index event_fact_cookie on event_fact (company_id, visitor, (body->>'cookieId'), at)
  where length(visitor) <> 36 and body->>'cookieId' is not null;
create index event_fact_network on event_fact (company_id, visitor, (body->>'netKey'), at)
  where length(visitor) <> 36 and body->>'netKey' is not null;
create index event_fact_keyed on event_fact (company_id, visitor, at)
  where length(visitor) <> 36 and body->>'trust' in ('key', 'import');
