-- sighting as migrations 0003 to 0014 made it, for the way back from 0016.
create table sighting_new (
  company_id text not null,
  kind       text not null,
  key        text not null,
  visitor    text not null,
  day        timestamptz not null,
  first_at   timestamptz not null,
  last_at    timestamptz not null,
  first_id   timestamptz,
  last_id    timestamptz
);
-- then
drop table sighting;
alter table sighting_new rename to sighting;
alter table sighting add primary key (company_id, kind, key, day, visitor);
create index sighting_visitor on sighting (company_id, visitor, kind, day, key);
