-- order_version as migrations 0003 to 0028 made it, for the way back from 0029.
create table order_version_new (
  company_id   text not null,
  order_id     text not null,
  version_at   timestamptz not null,
  accepted_at  timestamptz not null,
  content_hash bytea not null,
  body         jsonb not null
);
-- then
drop table order_version;
alter table order_version_new rename to order_version;
alter table order_version add primary key (company_id, order_id, version_at, accepted_at, content_hash);
