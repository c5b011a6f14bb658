-- +goose Up
-- The list of a person's sessions says in which browser each is: "Chrome, Windows".
alter table person_session add column browser text not null default '';
create index person_session_person on person_session (person_id, family);

-- One-time links: to come into a store, or to set a password anew.
create table invitation (
  invitation_id uuid primary key,
  token_sha256  bytea not null unique, -- the link is shown once and never stored
  store_id      uuid not null references store,
  email         text not null,         -- trimmed, lower case
  role          text check (role in ('owner', 'analyst')),
  person_id     uuid references person, -- whose password is set anew; null: an invitation
  made_by       uuid references person, -- null: the command line
  created_at    timestamptz not null default now(),
  expires_at    timestamptz not null,
  check ((role is null) = (person_id is not null))
);
create index invitation_store on invitation (store_id, created_at);

-- +goose Down
drop table invitation;
drop index person_session_person;
alter table person_session drop column browser;
