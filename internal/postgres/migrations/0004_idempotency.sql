-- +goose Up
-- Answers to writes that carried an Idempotency-Key. A row without an answer is
-- a request under way: its lease says until when nobody else may try.
create table idempotency (
  company_id      text not null,
  idempotency_key text not null,
  fingerprint     bytea not null, -- SHA-256 of method, path and body
  lease           uuid not null,  -- of the attempt: only its holder may answer
  leased_until    timestamptz not null,
  answer          bytea,          -- the data of the answer, as JSON; null: under way
  expires_at      timestamptz not null,
  primary key (company_id, idempotency_key)
);
create index idempotency_expiry on idempotency (company_id, expires_at);

-- +goose Down
drop table idempotency;
