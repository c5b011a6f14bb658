-- +goose Up
-- From where the events of a stream come: its missing ones are counted there.
alter table stream add column origin text, add column agent text; -- null: it is not known

-- +goose Down
alter table stream drop column agent, drop column origin;
