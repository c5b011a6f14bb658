-- +goose Up
-- Which events came by a campaign (facts.Event.Arrived): of a visitor with more events
-- than are read for an order, these are read all the same. Of events of before some more
-- are marked than came by one.
alter table event_fact add column arrived boolean not null default false;
update event_fact set arrived = true
where name = 'LINK_CLICK' or body ? 'click' or body->'context' ?| '{campaign,clickIds}'
  or body->'context'->'page'->>'url' ~ '[?&#](utm_|trb_click=|[a-zA-Z_]*(clid|braid|epik|_cid|ScCid|fat_id))';
create index event_fact_arrived on event_fact (company_id, visitor, at) where arrived and visitor is not null;

-- +goose Down
drop index event_fact_arrived;
alter table event_fact drop column arrived;
