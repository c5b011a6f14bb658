-- +goose Up
-- +goose StatementBegin
-- Mails are destinations too, of the kind 'mail' (docs/adr/0042-mail-is-one-more-destination.md).
-- older programs go on: they neither read nor write the column, and the service that sends webhooks takes no destination of another kind.
-- One that writes events writes each of them for mails too, due at once: who sends mails makes one mail of many.
alter table destination add column language text not null default ''; -- of mails: lang.Tags
-- +goose StatementEnd
