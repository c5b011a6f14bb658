-- +goose Up
-- Senders' numberings of their events: how far each has come, and which numbers have not
-- (internal/delivery). A row is removed some days after its last event.
create table stream (
  company_id text not null,
  stream     bytea not null,  -- the first 16 bytes of the SHA-256 of its name
  day        date not null,   -- UTC, of its last event
  top        bigint not null, -- the highest number
  gaps       bytea,           -- packed; null: none
  primary key (company_id, stream)
);
-- Whole ones are removed sooner.
create index stream_whole on stream (company_id, day) where gaps is null;
create index stream_gaps on stream (company_id, day) where gaps is not null;

-- What was counted and is in no other table, so that it is counted once however often it
-- comes: repeats, rejected events, and what senders gave up. Removed after some weeks.
create table delivery_seen (
  company_id text not null,
  id         bytea not null, -- a digest
  day        date not null,  -- UTC, on which it was received
  primary key (company_id, id)
);
create index delivery_seen_day on delivery_seen (company_id, day);

-- How much of the two tables above a day has made: both are bounded by company and day.
create table delivery_day (
  company_id text not null,
  day        date not null,
  streams    int not null,
  seen       int not null,
  unfollowed bytea, -- delivery.Sketch of the streams that are too many; null: none are
  primary key (company_id, day)
);

-- The table delivery, by where events come from.
create table delivery_source (
  company_id text not null,
  day        date not null,
  origin     text not null, -- of the page: one of the company's, 'other', or '' for none
  agent      text not null, -- a family of internal/agent
  outcome    text not null, -- as in delivery, without reasons
  events     bigint not null,
  primary key (company_id, day, origin, agent, outcome)
);

-- +goose Down
drop table delivery_source, delivery_day, delivery_seen, stream;
