-- +goose Up
-- What the pages look for: an order by what the shop calls it, and what waits for a decision.
create index orders_name on orders (company_id, (body->>'name')) where body->>'name' is not null;
create index orders_number on orders (company_id, (body->>'number')) where body->>'number' is not null;
create index payout_review on payout (company_id, order_id) where state = 'review';

-- +goose Down
drop index orders_name, orders_number, payout_review;
