-- +goose Up
-- Fees are in BRL. On an order in another currency they are owed beside
-- commission_minor, never added to it; 0 on orders in BRL.
alter table payout add column fixed_brl_minor bigint not null default 0;

-- +goose Down
alter table payout drop column fixed_brl_minor;
