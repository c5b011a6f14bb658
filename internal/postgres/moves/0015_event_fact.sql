-- Migration 0015 moves events into this table (moves/events.go). Its
-- columns stand so that no row has bytes between them.
create table event_fact (
  at         timestamptz not null, -- corrected time
  event_id   uuid not null,        -- a UUIDv7; its own time, that of the id, chooses the partition
  class      smallint not null,    -- facts.Class: 0 of a program, 1 of a person, 2 of a person who came by a campaign
  company_id text not null,
  name       text not null,
  visitor    bytea,                -- packed.ID of facts.Event.Visitor; null: nothing reads the event
  sources    bytea[],              -- of a visitor whose id may be guessed: cart, cookie, network (packed.ID), and a byte where a backend sent it
  record     bytea not null,       -- packed.AppendRecord, beside company_id, event_id, name and visitor
  primary key (company_id, event_id)
) partition by range (event_id);
create table event_fact_default partition of event_fact default;
create index event_fact_visitor on event_fact (company_id, visitor, at) where visitor is not null;
create index event_fact_arrived on event_fact (company_id, visitor, at) where class = 2 and visitor is not null;

-- Of a visitor whose id may be guessed anybody can send any number of events. Those that
-- are proven are found by what a stranger cannot send.
create index event_fact_cart on event_fact (company_id, visitor, (sources[1]), at) where sources[1] is not null;
create index event_fact_cookie on event_fact (company_id, visitor, (sources[2]), at) where sources[2] is not null;
create index event_fact_network on event_fact (company_id, visitor, (sources[3]), at) where sources[3] is not null;
create index event_fact_keyed on event_fact (company_id, visitor, at) where sources[4] is not null;
