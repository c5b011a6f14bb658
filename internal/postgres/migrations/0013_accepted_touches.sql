-- +goose Up
-- The event ids of the touches that a decision accepted, joined by commas.
alter table evidence_decision add column touches text not null default '';

-- +goose Down
alter table evidence_decision drop column touches;
