-- What PostgreSQL keeps after a delete, and how to be rid of it. As the owner of the tables; those
-- on the whole server are for the embedded one, where the login is the superuser.

-- name: now
select pg_current_xact_id()::text;

-- name: waiting_for
-- Transactions that may still see what the transaction $1 erased: their snapshots are older.
select count(*) from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid() and backend_xmin is not null
  and age(backend_xmin) >= age(($1::text)::xid);

-- name: rewrite
-- The whole table anew, with its indexes, its long values and its statistics.
vacuum (full, analyze) chunks;

-- name: rewrite_statistics
vacuum full pg_catalog.pg_statistic;

-- name: patience
select set_config('lock_timeout', $1, false);

-- name: switch_wal
select pg_switch_wal()::text;

-- name: checkpoint
checkpoint;

-- name: wal_begin
-- The first file of the log that a crash would need.
select pg_walfile_name(redo_lsn) from pg_control_checkpoint();

-- name: superuser
select rolsuper from pg_roles where rolname = session_user;

-- name: data_directory
select current_setting('data_directory'),
       (select oid::text from pg_database where datname = current_database());

-- name: programs
select setting from pg_config where name = 'BINDIR';

-- name: unswept
select e.event_id, e.content->'erased'->'rows' as rows from events e
where e.tenant_id = $1 and e.kind = 'erasure' and e.content ? 'erased'
  and not exists (select from events s where s.tenant_id = $1 and s.kind = 'erasure'
                  and s.position > e.position and s.content->'swept' ? e.event_id)
order by e.position;
