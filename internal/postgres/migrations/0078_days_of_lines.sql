-- +goose Up
-- The order's day, in the store's time zone, as it was when the entry was put into a
-- statement; null: it is in none.
alter table ledger_entry add column day date;
update ledger_entry l set day = o.day from orders o
where o.company_id = l.company_id and o.order_id = l.order_id and l.statement_id is not null;
-- An older program would close statements without days.
update oldest_program set schema_version = 78;

-- +goose Down
update oldest_program set schema_version = 75;
alter table ledger_entry drop column day;
