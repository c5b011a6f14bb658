-- +goose Up
-- +goose StatementBegin
-- Orders that were an influencer's and are nobody's: a replay of webhooks tells them too.
-- older programs go on: they neither read nor write the column.
alter table payout add column formerly boolean; -- true: it was an influencer's, at some time before
-- +goose StatementEnd
