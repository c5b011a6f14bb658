-- +goose Up
-- true: an order to try something out, that counts nowhere; null: it is none.
alter table orders add column test boolean;

-- The base of commissions is without the tax that the total contains.
alter table company add column commission_without_tax boolean not null default false;
alter table past_setting add column commission_without_tax boolean not null default false;

-- +goose Down
alter table past_setting drop column commission_without_tax;
alter table company drop column commission_without_tax;
alter table orders drop column test;
