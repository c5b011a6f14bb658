-- +goose Up
-- +goose StatementBegin
-- Files that `tributary export` has written, so that an erasure can reach them (docs/analysis.md).
-- older programs go on: they neither read nor write these tables. An erasure that an older program ends waits for no files; the
-- next export writes them anew all the same, since their rows changed.

-- What is exported: a kind of rows to a directory. Runs are counted.
create table export (
  company_id text not null,
  export_id  uuid not null,   -- of the directory, which has it in a file
  kind       text not null check (kind in ('events', 'orders', 'credits', 'ledger', 'statements')),
  format     text not null check (format in ('parquet', 'csv')),
  place      text not null,   -- the machine and the directory, for people
  begun      bigint not null, -- the run that began last
  begun_at   timestamptz not null,
  done       bigint not null default 0, -- the last run that came to its end: every file was compared with the rows, or written
  done_at    timestamptz,     -- null: none did
  forgotten_at timestamptz,   -- its files are gone for good: nothing waits for it. The count of runs goes on where there are files again
  primary key (company_id, export_id, kind)
);

-- A day of it: one file. The row is there before the file is.
create table export_day (
  company_id text not null,
  export_id  uuid not null,
  kind       text not null,
  day        date not null,
  digest     bytea,  -- of the rows that the file was made of, of the key of its digests and of its layout; null: it is being written
  rows       bigint,
  bytes      bigint,
  modified   bigint, -- when the file was written, nanoseconds since 1970: one that a backup brought back has another time
  primary key (company_id, export_id, kind, day)
);

-- Exports whose files may still have the person of an erasure, all else of which is done.
create table erasure_export (
  company_id text not null,
  erasure_id uuid not null,
  export_id  uuid not null,
  kind       text not null,
  begun      bigint not null, -- the run that had begun: one that began after it and is done has written all files without the person
  primary key (company_id, erasure_id, export_id, kind)
);
-- +goose StatementEnd
