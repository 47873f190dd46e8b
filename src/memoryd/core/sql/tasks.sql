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
