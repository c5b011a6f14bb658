-- +goose NO TRANSACTION
-- +goose Up
-- Entries of agreements and those made by hand: few among very many of orders, and lists of the ledger show them alone.
-- older programs go on: they see no index.
set lock_timeout = 0;
drop index concurrently if exists ledger_account;
create index concurrently ledger_account on ledger_entry (company_id, at, order_id, entry) where starts_with(order_id, E'\x01');
reset lock_timeout;
