-- +goose Up
-- How often the links to a statement were revoked: a link says which number it was made
-- with, and works while that is the present one. No row: never.
create table statement_link (
  company_id   text not null,
  statement_id uuid not null,
  revoked      bigint not null,
  primary key (company_id, statement_id)
);

-- +goose Down
drop table statement_link;
