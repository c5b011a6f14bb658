-- +goose Up
-- The base of the order's commission, in minor units, as it was when the entry was put into a
-- statement; null: it is in none, or the order is in another currency.
-- older programs go on: the statements that they close have no bases
alter table ledger_entry add column base_minor bigint;
update ledger_entry l set base_minor = p.base_minor from payout p
where p.company_id = l.company_id and p.order_id = l.order_id and p.currency = l.currency and l.statement_id is not null;

-- +goose Down
alter table ledger_entry drop column base_minor;
