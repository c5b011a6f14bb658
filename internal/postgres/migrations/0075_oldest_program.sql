-- +goose Up
-- Which programs may use this schema: those that know a migration of at least this number. A later migration with
-- which an older program cannot work raises it to its own number, and lowers it again on its way back.
create table oldest_program (
  only_row       boolean primary key default true check (only_row),
  schema_version bigint not null
);
insert into oldest_program (schema_version) values (75);

-- +goose Down
drop table oldest_program;
