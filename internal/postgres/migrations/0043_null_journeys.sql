-- +goose Up
-- The null journeys of each day: visitors who came and did not buy, by the day of their last
-- touch in the store's time zone (docs/reports.md, "Null journeys"). They are counted after
-- the day is over, from facts alone.
create table null_day (
  company_id text not null,
  day        date not null,
  round      smallint not null,           -- facts.NullRound: how long after the day it was counted; 0: not yet
  marks      bigint not null default 0,   -- how often facts changed which the last round reads
  counted    bigint not null default 0,   -- marks when the count began; fewer than now: it is counted again
  counted_at timestamptz,                 -- when the count began
  journeys   bigint not null default 0,
  left_out   bigint not null default 0,   -- of these: in no step, since the day has too many different steps
  steps      bytea not null default '',   -- rollup.NullSteps, packed
  primary key (company_id, day)
);

-- The count that is under way, one a company at most.
create table null_count (
  company_id text not null,
  day        date not null,
  round      smallint not null,
  marks      bigint not null,      -- null_day.marks when it began
  began_at   timestamptz not null,
  after      bytea not null,       -- the last visitor that was looked at (packed.ID)
  journeys   bigint not null,
  left_out   bigint not null,
  steps      bytea not null,
  primary key (company_id)
);

-- +goose Down
drop table null_count, null_day;
