-- +goose Up
-- Each visitor once a day, and once for each item and influencer's campaign of that day.
create table shopper_day (
  company_id text not null,
  day        date not null,     -- of the event, in the store's time zone
  visitor    bytea not null,    -- packed.ID
  of         text collate "C" not null, -- '': the store; p:<item>; i:<influencer>/<campaign>
  stages     smallint not null, -- bits of facts.Stage
  primary key (company_id, day, visitor, of)
);

-- How many visitors those are.
create table traffic_day (
  company_id text not null,
  day        date not null,
  of         text collate "C" not null,
  visited    bigint not null,
  viewed     bigint not null,
  added      bigint not null,
  checkout   bigint not null,
  bought     bigint not null,
  primary key (company_id, day, of)
);

-- Reads of the store and of influencers' campaigns pass by the items.
create index traffic_day_of on traffic_day (company_id, of, day) where of < 'p';

-- How often short links were opened.
create table click_day (
  company_id text not null,
  day        date not null,
  code       text not null,
  clicks     bigint not null,
  primary key (company_id, day, code)
);

-- +goose Down
drop table click_day, traffic_day, shopper_day;
