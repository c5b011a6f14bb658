-- +goose Up
-- The sum of a statement's entries so far (ledger.Sum), while it is closing and all of them
-- are in it; null: they are not, or it is closed.
alter table statement add column summed bytea;

-- Entries are summed in the order of bytes, some at a time.
drop index ledger_statement;
create index ledger_statement on ledger_entry (company_id, statement_id, order_id collate "C", entry) where statement_id is not null;

-- +goose Down
drop index ledger_statement;
create index ledger_statement on ledger_entry (company_id, statement_id, order_id, entry) where statement_id is not null;
alter table statement drop column summed;
