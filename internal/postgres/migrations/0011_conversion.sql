-- +goose Up
-- +goose StatementBegin
-- What advertising networks were told (docs/adr/0048-conversions-leave-by-consent.md). An account at a network is a destination.
-- older programs go on: they neither read nor write the table, and leave destinations of these kinds alone.

-- A row for each order that a network was told of, or may have been: it is written before the first request. It stays when the
-- destination goes: an erasure is passed on by it.
create table conversion (
  company_id  text not null,
  order_id    text not null,
  network     text not null,           -- destination.kind
  account     text not null,           -- commerce.NetworkAccount.Told
  begun_at    timestamptz not null,    -- before it was first sent
  sent_at     timestamptz,             -- the network took it; null: it is not known whether it did
  currency    text not null,
  value_minor bigint not null,         -- as the network has it now: less what was refunded
  primary key (company_id, order_id, network, account)
);
-- +goose StatementEnd
