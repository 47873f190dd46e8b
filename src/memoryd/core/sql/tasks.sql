-- As in read.sql, $2 to $5 are the reader's eyes; $6 is the position at which to look. A row is a
-- task from its position on, `until` an update made another of it.

-- name: page
select task_id, event_id, position, ts, status, title, details, session_id, user_id, agent_id,
       channel, sensitivity, refs
from tasks
where tenant_id = $1 and sensitivity = any($2::text[])
  and (channel = any($3::text[]) or (channel = any($4::text[]) and user_id = $5))
  and position <= $6 and (until is null or until > $6)
  and ($7::text[] is null or status = any($7))
  and ($8::text is null or session_id = $8)
  and ($9::bigint is null or position < $9)
order by position desc limit $10;

-- name: one
select task_id, event_id, position, ts, status, title, details, session_id, user_id, agent_id,
       channel, sensitivity, refs
from tasks
where tenant_id = $1 and sensitivity = any($2::text[])
  and (channel = any($3::text[]) or (channel = any($4::text[]) and user_id = $5))
  and position <= $6 and (until is null or until > $6)
  and task_id = $7;

-- name: history
select event_id, position, ts, status,
       status <> 'done' and coalesce(lag(status) over (order by position) = 'done', false)
         as reopened
from tasks
where tenant_id = $1 and sensitivity = any($2::text[])
  and (channel = any($3::text[]) or (channel = any($4::text[]) and user_id = $5))
  and position <= $6
  and task_id = $7
order by position;

-- name: events
-- Of the versions of tasks at these positions, the events that gave them their texts: a version keeps
-- what its update did not mention.
select distinct t.event_id, shown.position
from tasks shown
join (
  select t.task_id, t.event_id, t.position, t.title, t.details,
         t.title is distinct from lag(t.title) over versions as titled,
         t.details is distinct from lag(t.details) over versions as detailed
  from tasks t
  where t.tenant_id = $1
    and t.task_id in (select s.task_id from tasks s
                      where s.tenant_id = $1 and s.position = any($2::bigint[]))
  window versions as (partition by t.task_id order by t.position)) t
  on t.task_id = shown.task_id and t.position <= shown.position
where shown.tenant_id = $1 and shown.position = any($2::bigint[])
  and (t.position = shown.position or t.titled and t.title = shown.title
       or t.detailed and t.details = shown.details)
order by shown.position, t.event_id;

-- name: refs
-- What tasks refer to, each with whom it may be changed by.
select task_id, channel, sensitivity, case channel when 'private' then user_id else '' end as owner,
       refs
from tasks
where tenant_id = $1 and task_id = any($2::text[]) and until is null;
