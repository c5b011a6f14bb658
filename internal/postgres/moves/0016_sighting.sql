-- Which visitors were seen with which key, one row a day (UTC), or an hour of receipt for
-- the kind network. Migration 0016 moves the rows (moves/keys.go).
create table sighting_new (
  slot       int not null,      -- the first hour of the day, or the hour: since 1970
  first_ms   int not null,      -- of the first event, since the slot began
  last_ms    int not null,
  first_hour int not null,      -- least hour since 1970 in the ids of these events: where they are stored
  last_hour  int not null,
  kind       smallint not null, -- facts.KeyKind.Code
  company_id text not null,
  key        bytea not null,    -- packed.ID
  visitor    bytea not null     -- packed.ID
);
-- then
drop table sighting;
alter table sighting_new rename to sighting;
alter table sighting add primary key (company_id, kind, key, slot, visitor);
-- Of the kinds visitor (3) and user (10) the key is the visitor's own id.
create index sighting_visitor on sighting (company_id, visitor, kind, slot, key) where kind <> 3 and kind <> 10;
