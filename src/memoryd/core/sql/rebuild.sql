-- name: tenants
select tenant_id from tenants order by tenant_id;

-- name: prefer_temporary
set search_path = pg_temp, memoryd;

-- name: make_temporary
drop table if exists pg_temp.chunks;
create temporary table chunks (like memoryd.chunks including all);

-- name: events
select event_id, position, ts, recorded_at, tenant_id, session_id, user_id, agent_id, channel,
       actor_type, actor_id, kind, sensitivity, tags, content, refs
from events
where tenant_id = $1 and position > $2
order by position limit $3;

-- name: erased
-- Whether anything was since the log ended at `$2`.
select exists (select from events where tenant_id = $1 and kind = 'erasure' and position > $2);

-- name: count
select count(*) from pg_temp.chunks;

-- name: differing
-- Rows of either that the other lacks.
with stored as (select * from memoryd.chunks where tenant_id = $1)
select (select count(*) from (table pg_temp.chunks except all table stored) missing)
     + (select count(*) from (table stored except all table pg_temp.chunks) extra);

-- name: clear
delete from memoryd.chunks where tenant_id = $1;

-- name: refill
insert into memoryd.chunks table pg_temp.chunks;
