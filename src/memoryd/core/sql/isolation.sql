-- The isolation self-test. A throw-away tenant has a name that no one else's has; only such a
-- tenant is ever removed from the log, by the owner.

-- name: tables
select c.relname::text from pg_class c
join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id'
where c.relnamespace = 'memoryd'::regnamespace and c.relkind = 'r'
order by 1;

-- name: hold
-- As long as the connection lives, so that nobody takes the tenant of a living test for a dead one's.
select pg_advisory_lock(hashtextextended('memoryd.doctor.' || $1, 0));

-- name: left_behind
-- By a self-test that was killed: a living one holds the lock of each of its tenants.
with throwaway as materialized (
  select tenant_id from tenants
  where tenant_id ~ '^memoryd\.doctor\.isolation\.[0-9a-f]{16}$')
select tenant_id from throwaway
where pg_try_advisory_lock(hashtextextended('memoryd.doctor.' || tenant_id, 0));

-- name: forget
-- In a transaction that has recorded an erasure, which goes with the rest.
do $$
declare
  name text;
  tables text[] := array(
    select c.relname::text from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id'
    where c.relnamespace = 'memoryd'::regnamespace and c.relkind = 'r'
    order by c.relname = 'tenants', c.relname = 'events', c.relname);
begin
  if memoryd.current_tenant() !~ '^memoryd\.doctor\.isolation\.[0-9a-f]{16}$' then
    raise exception '% is no throw-away tenant', memoryd.current_tenant();
  end if;
  foreach name in array tables loop
    execute format('delete from memoryd.%I where tenant_id = memoryd.current_tenant()', name);
  end loop;
end $$;

-- name: wait_briefly
-- Removing waits for writers, and they for it: not for long.
select set_config('lock_timeout', '3s', true);

-- name: count
select count(*) from memoryd.chunks;

-- name: count_of
select count(*) from memoryd.chunks where tenant_id = $1;

-- name: change
update memoryd.chunks set tenant_id = tenant_id where tenant_id = $1;

-- name: remove
delete from memoryd.chunks where tenant_id = $1;

-- name: plant_tenant
insert into memoryd.tenants (tenant_id, created_at) values ($1, now());

-- name: plant_event
insert into memoryd.events (tenant_id, event_id, position, ts, recorded_at, session_id, user_id,
                            agent_id, channel, actor_type, actor_id, kind, sensitivity, tags,
                            content, refs)
values ($1, 'evt_planted', 1000000, now(), now(), 's', 'u', 'a', 'public', 'human', 'x', 'message',
        'none', '{}', '{}', '{}');

-- name: take_over
insert into memoryd.keys (tenant_id, key_id, key_hash, role, created_at)
values ($1, 'key_planted', '\x00', 'admin', now());

-- name: row_security_off
set local row_security = off;

-- name: disable
alter table memoryd.events disable row level security;

-- name: drop_policy
drop policy tenant on memoryd.events;

-- name: allow_all
create policy everything on memoryd.events using (true);

-- name: replace_function
create or replace function memoryd.current_tenant() returns text language sql return 'x';

-- name: disable_trigger
alter table memoryd.events disable trigger all;

-- name: truncate
truncate memoryd.events cascade;

-- name: make_table
create table memoryd.planted (x int);

-- name: shadow_setting
-- A function of the same name that comes first in the path.
create function pg_temp.current_setting(text, boolean) returns text language sql
  return 'memoryd.doctor.isolation';

-- name: shadow_tenant
create function pg_temp.current_tenant() returns text language sql
  as $$ select pg_catalog.current_setting('memoryd.isolation_victim', true) $$;

-- name: shadow_path
set local search_path = pg_temp, memoryd, pg_catalog;

-- name: name_victim
select set_config('memoryd.isolation_victim', $1, true);

-- name: spy
-- A cheap function of one's own would be run before the policy, if the policy were no barrier.
create function pg_temp.spy(text, text) returns boolean language plpgsql cost 0.0001 as $$
begin
  if $1 = $2 then raise exception 'seen'; end if;
  return true;
end $$;

-- name: look_with_spy
do $$
begin
  perform from memoryd.events
  where pg_temp.spy(tenant_id, current_setting('memoryd.isolation_victim'));
end $$;

-- name: statistics
-- What the planner knows of values in the tables.
select count(*) from pg_stats where schemaname = 'memoryd' and tablename <> 'migrations'
  and tablename <> 'view_definition' and tablename <> 'encoder';

-- name: definers
-- Functions that anyone may call and that work with the owner's rights.
select count(*) from pg_proc
where pronamespace = 'memoryd'::regnamespace and prosecdef
  and has_function_privilege('memoryd_app', oid, 'execute');

-- name: member
select pg_has_role('memoryd_app', 'memoryd_owner', 'member')::int;
