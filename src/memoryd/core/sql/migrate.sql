-- name: lock
select pg_advisory_xact_lock($1);

-- name: installed
select to_regclass('memoryd.migrations') is not null;

-- name: version
select max(version) from memoryd.migrations;

-- name: stamp
insert into migrations (version) values ($1);

-- name: make_roles
-- Roles belong to the whole server: another database may have made them, even at this instant.
do $$
declare
  name text;
begin
  foreach name in array array['memoryd_owner', 'memoryd_app'] loop
    if not exists (select from pg_roles where rolname = name) then
      begin
        execute format('create role %I nologin', name);
      exception when duplicate_object or unique_violation then null;
      end;
    end if;
    -- Since version 16 the maker of a role may not at once become it; trying is the one test that
    -- holds for every version.
    begin
      execute format('set local role %I', name);
      reset role;
    exception when insufficient_privilege then
      execute format('grant %I to current_user', name);
    end;
  end loop;
  -- Not `if not exists`: that asks for the right to create even when there is nothing to create.
  if to_regnamespace('memoryd') is null then
    create schema memoryd authorization memoryd_owner;
  end if;
end $$;

-- name: make_roles_by_hand
create role memoryd_owner nologin;
create role memoryd_app nologin;
grant memoryd_owner, memoryd_app to LOGIN;
create schema memoryd authorization memoryd_owner;

-- name: as_owner
set local role memoryd_owner;

-- name: view_definition
select sha256, complete from view_definition;

-- name: define_views
insert into view_definition (sha256, complete) values ($1, false)
on conflict (only_row) do update set sha256 = excluded.sha256, complete = false;

-- name: complete_views
update view_definition set complete = true where sha256 = $1;

-- name: set_codes_aside
-- Vectors are named by what they were computed of, so they hold whatever the views become; to
-- compute them again takes hours where a replay takes minutes.
alter table if exists token_codes rename to kept_codes;

-- name: take_codes_back
-- With their table, which is much faster than copying it; unless the new one has other columns.
do $$
begin
  if to_regclass('memoryd.kept_codes') is null then
    return;
  end if;
  if (select array_agg(row(attname, atttypid)::text order by attname) from pg_attribute
      where attrelid = 'memoryd.kept_codes'::regclass and attnum > 0 and not attisdropped)
     = (select array_agg(row(attname, atttypid)::text order by attname) from pg_attribute
        where attrelid = 'memoryd.token_codes'::regclass and attnum > 0 and not attisdropped) then
    drop table token_codes;
    alter table kept_codes rename to token_codes;
  else
    drop table kept_codes;
  end if;
end $$;

-- name: drop_views
-- Whatever an older definition made: all that is not ground truth.
do $$
declare
  name text;
begin
  for name in
    select c.relname from pg_class c
    where c.relnamespace = 'memoryd'::regnamespace and c.relkind = 'r'
      and c.relname <> 'kept_codes'
      and c.relname <> all (array['migrations', 'view_definition', 'encoder', 'tenants', 'events',
                                  'artifacts', 'artifact_pieces', 'keys', 'receipts',
                                  'master_check', 'tenant_keys', 'audit'])
  loop
    execute format('drop table memoryd.%I cascade', name);
  end loop;
end $$;
