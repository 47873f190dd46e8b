-- The queries of custody/erase.py and its neighbours, for the owner of the tables alone.

-- name: lock_receipts
-- Alone with the receipts of a tenant: see keep_receipt in log.sql.
select pg_advisory_xact_lock(hashtextextended('memoryd.receipts.' || $1, 0));

-- name: named
-- What is to be erased, by user, session, event or memory. A place that was known when it was added
-- again has events of other ids.
select position from events
where tenant_id = $1 and kind <> 'erasure'
  and ($2::text is null or user_id = $2)
  and ($3::text is null or session_id = $3)
  and ($4::text is null or event_id = $4)
  and ($5::text is null or (kind = 'memory' and (
    content->>'memory_id' = $5
    or position in (select position from memories where tenant_id = $1 and memory_id = $5))))
order by position;

-- name: derived
-- With the texts of these kinds ($3) that were made of them, and what was made of those; with what
-- was said of how a reference is described.
with recursive texts as (
  select position, event_id, unnest(refs) as cites from events
  where tenant_id = $1 and kind = any($3::text[])
  union all
  select position, event_id, content->>'memory_id' from events
  where tenant_id = $1 and kind = 'memory' and content->>'type' = 'reference'
    and content->>'op' = 'update'),
gone (position, event_id) as (
  select position, event_id from events where tenant_id = $1 and position = any($2::bigint[])
  union
  select t.position, t.event_id from gone g join texts t on t.cites = g.event_id)
select position from gone order by position;

-- name: spoken
-- Events that stay, of which the erased user is the actor.
select count(*) from events
where tenant_id = $1 and actor_id = $2 and position <> all($3::bigint[]);

-- name: events
select event_id, position, ts, recorded_at, tenant_id, session_id, user_id, agent_id, channel,
       actor_type, actor_id, kind, sensitivity, tags, content, refs
from events
where tenant_id = $1 and position = any($2::bigint[]) and kind <> 'erasure'
order by position;

-- name: name_act
-- What the triggers of the log ask for.
select set_config('memoryd.erasure', $1, true);

-- name: empty
-- Of a decision the tombstone keeps the id of the one that it had replaced, for its successor.
update events
set ts = recorded_at, session_id = '', user_id = '', agent_id = '', channel = 'private',
    actor_type = 'tool', actor_id = '', kind = 'erasure', sensitivity = 'none', tags = '{}',
    content = jsonb_strip_nulls(jsonb_build_object('erased_by', $3::text, 'replaced',
      (select d.supersedes from decisions d
       where d.tenant_id = $1 and d.position = events.position))), refs = '{}',
    idempotency_key = null, request_hash = null
where tenant_id = $1 and position = any($2::bigint[]);

-- name: describe
update events set content = $3::jsonb
where tenant_id = $1 and event_id = $2;

-- name: artifacts
delete from artifacts a using events e
where a.tenant_id = $1 and e.tenant_id = $1 and e.event_id = a.event_id
  and e.position = any($2::bigint[])
returning a.digest;

-- name: pieces
-- Unless another artifact has the same bytes.
delete from artifact_pieces p
where p.tenant_id = $1 and p.digest = any($2::bytea[])
  and not exists (select from artifacts a where a.tenant_id = $1 and a.digest = p.digest);

-- name: packed
-- A stretch of each artifact's pieces as they lie in the files, unless another has the same.
select substring(p.bytes from length(p.bytes) / 2 + 1 for 32)
from artifacts a join artifact_pieces p on p.tenant_id = $1 and p.digest = a.digest
join events e on e.tenant_id = $1 and e.event_id = a.event_id
where a.tenant_id = $1 and e.position = any($2::bigint[])
  and not exists (select from artifacts o where o.tenant_id = $1 and o.digest = a.digest
                  and o.event_id <> a.event_id)
limit 100;

-- name: keys
delete from keys
where tenant_id = $1 and user_id = $2;

-- name: accesses
-- That something was asked stays, and with which key; not for whom ($2), nor the id of a memory
-- that is gone ($4). Of a tenant nothing stays.
with blank as (
  update audit set user_id = null, ref = null
  where tenant_id = $1 and (user_id = $2 or ref = $4) returning access_id),
gone as (delete from audit where tenant_id = $1 and $3 returning access_id)
select (select count(*) from blank) + (select count(*) from gone);

-- name: receipts
-- Of the erased user's questions ($2), of the erased session's ($3), and of bundles that show what
-- is gone or changed ($4).
select acb_id from receipts
where tenant_id = $1 and inputs <> '{}' and (
  inputs->'reader'->>'user_id' = $2 or inputs->'asked'->>'session_id' = $3
  or exists (
    select from jsonb_each(items->'sections') s (name, part),
                jsonb_array_elements(part->'items') one
    where (one->>1)::bigint = any($4::bigint[])));

-- name: empty_receipts
-- The id stays taken, so that whoever asks for the bundle learns that it is gone.
update receipts set inputs = '{}', items = '{}'
where tenant_id = $1 and acb_id = any($2::text[]);

-- name: successors
-- The chunks whose vectors may have been computed with one of $3 as context, among what stays:
-- for every sensitivity, the next of the same session, user and channel.
select distinct s.position
from chunks c
cross join unnest(array['none', 'low', 'high', 'secret']) level
cross join lateral (
  select b.position from chunks b
  where b.tenant_id = $1 and b.session_id = c.session_id and b.position > c.position
    and b.user_id = c.user_id and b.channel = c.channel and b.sensitivity = level
    and b.position <> all($2::bigint[])
  order by b.position, b.ordinal limit 1) s
where c.tenant_id = $1 and c.position = any($3::bigint[])
order by 1;

-- name: models
select distinct model from code_segments where tenant_id = $1;

-- name: tables
-- Every table with rows of tenants, and whether its rows are of log positions.
select c.relname::text as name,
       exists (select from pg_attribute p where p.attrelid = c.oid and p.attname = 'position'
               and not p.attisdropped) as placed
from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id'
where c.relnamespace = 'memoryd'::regnamespace and c.relkind = 'r' and not a.attisdropped
order by 1;

-- name: remove
-- Written for the chunks; other tables whose rows are of log positions have the same.
delete from chunks
where tenant_id = $1 and position = any($2::bigint[]);

-- name: remove_all
delete from chunks
where tenant_id = $1;

-- name: remove_log
-- But the event that says so.
delete from events
where tenant_id = $1 and event_id <> $2;

-- name: shown
-- What a bundle may show of a version; when it ended is not part of that, nor what it replaced.
select position, to_jsonb(t) - '{until,superseded_by,supersedes}'::text[] as shown from tasks t
where tenant_id = $1 and position = any($2::bigint[]);

-- name: rewind_tasks
-- Versions from the first erased one on go, those before hold again; the events that stay are then
-- projected anew.
with first as (
  select task_id, min(position) as position from tasks
  where tenant_id = $1 and position = any($2::bigint[]) group by task_id),
reopened as (
  update tasks t set until = null from first f
  where t.tenant_id = $1 and t.task_id = f.task_id
    and t.position < f.position and t.until >= f.position)
delete from tasks t using first f
where t.tenant_id = $1 and t.task_id = f.task_id and t.position >= f.position
returning t.position, to_jsonb(t) - '{until,superseded_by,supersedes}'::text[] as shown;

-- name: rewind_memories
with first as (
  select memory_id, min(position) as position from memories
  where tenant_id = $1 and position = any($2::bigint[]) group by memory_id),
reopened as (
  update memories t set until = null from first f
  where t.tenant_id = $1 and t.memory_id = f.memory_id
    and t.position < f.position and t.until >= f.position)
delete from memories t using first f
where t.tenant_id = $1 and t.memory_id = f.memory_id and t.position >= f.position
returning t.position, to_jsonb(t) - '{until,superseded_by,supersedes}'::text[] as shown;

-- name: rewind_mentions
-- Before the memories: what is mentioned may be gone, or another memory then.
with first as (
  select memory_id, min(position) as position from memories
  where tenant_id = $1 and position = any($2::bigint[]) group by memory_id)
delete from mentions t
where t.tenant_id = $1
  and (t.position = any($2::bigint[])
       or exists (select from first f
                  where f.memory_id = t.memory_id and f.position <= t.position))
returning t.position, to_jsonb(t) as shown;

-- name: rewind_references
with first as (
  select reference_id, min(position) as position from stored_references
  where tenant_id = $1 and position = any($2::bigint[]) group by reference_id),
reopened as (
  update stored_references t set until = null from first f
  where t.tenant_id = $1 and t.reference_id = f.reference_id
    and t.position < f.position and t.until >= f.position)
delete from stored_references t using first f
where t.tenant_id = $1 and t.reference_id = f.reference_id and t.position >= f.position
returning t.position, to_jsonb(t) - '{until,superseded_by,supersedes}'::text[] as shown;

-- name: rewind_handoffs
with first as (
  select handoff_id, min(position) as position from handoffs
  where tenant_id = $1 and position = any($2::bigint[]) group by handoff_id),
reopened as (
  update handoffs t set until = null from first f
  where t.tenant_id = $1 and t.handoff_id = f.handoff_id
    and t.position < f.position and t.until >= f.position)
delete from handoffs t using first f
where t.tenant_id = $1 and t.handoff_id = f.handoff_id and t.position >= f.position
returning t.position, to_jsonb(t) - '{until,superseded_by,supersedes}'::text[] as shown;

-- name: rewind_view_texts
with first as (
  select name, owner, min(position) as position from view_texts
  where tenant_id = $1 and position = any($2::bigint[]) group by name, owner),
reopened as (
  update view_texts t set until = null from first f
  where t.tenant_id = $1 and t.name = f.name and t.owner = f.owner
    and t.position < f.position and t.until >= f.position)
delete from view_texts t using first f
where t.tenant_id = $1 and t.name = f.name and t.owner = f.owner and t.position >= f.position
returning t.position, to_jsonb(t) - '{until,superseded_by,supersedes}'::text[] as shown;

-- name: rewind_decisions
-- A decision is compared with all that its owner may change: see project.rivals.
with first as (
  select channel, sensitivity, case when channel = 'private' then user_id end as owner,
         min(position) as position
  from decisions
  where tenant_id = $1 and position = any($2::bigint[]) group by 1, 2, 3),
reopened as (
  update decisions t set until = null, superseded_by = null from first f
  where t.tenant_id = $1 and t.channel = f.channel and t.sensitivity = f.sensitivity
    and (f.owner is null or t.user_id = f.owner)
    and t.position < f.position and t.until >= f.position)
delete from decisions t using first f
where t.tenant_id = $1 and t.channel = f.channel and t.sensitivity = f.sensitivity
  and (f.owner is null or t.user_id = f.owner) and t.position >= f.position
returning t.position, to_jsonb(t) - '{until,superseded_by,supersedes}'::text[] as shown;

-- name: acts
-- Erasures, newest first; and when what they left in files was swept away.
select e.event_id, e.position, e.recorded_at, e.actor_id, e.content,
       (select min(s.recorded_at) from events s
        where s.tenant_id = $1 and s.kind = 'erasure' and s.position > e.position
          and s.content->'swept' ? e.event_id) as swept_at
from events e
where e.tenant_id = $1 and e.kind = 'erasure' and e.content ? 'erased'
  and ($2::bigint is null or e.position < $2) and ($3::text is null or e.event_id = $3)
order by e.position desc limit $4;
