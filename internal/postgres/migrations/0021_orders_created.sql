-- +goose Up
-- GET /orders reads a company's orders from the newest on.
create index orders_created on orders (company_id, created_at, order_id);

-- +goose Down
drop index orders_created;
