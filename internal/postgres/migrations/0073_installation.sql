-- +goose Up
-- older programs go on: nothing that they do depends on it.
-- The installation's id, made once with the database. It is in directory.v1 too, so that services of another
-- installation see that the topics are not theirs. A database of before has one that follows from its first company:
-- an older backup of it gets the same.
create table installation (
  only_row        boolean primary key default true check (only_row),
  installation_id text not null
);
insert into installation (installation_id)
select 'i_' || coalesce((select md5(company_id) from company order by created_at, company_id limit 1), replace(gen_random_uuid()::text, '-', ''));

-- +goose Down
drop table installation;
