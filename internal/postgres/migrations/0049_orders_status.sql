-- +goose Up
-- Lists of orders that are pending or cancelled: there may be few, or none, among very many.
create index orders_status on orders (company_id, status, created_at, order_id) where status <> 0;

-- +goose Down
drop index orders_status;
