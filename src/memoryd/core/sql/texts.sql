-- As in read.sql, $2 to $5 are the reader's eyes; $6 is the position at which to look. Each user
-- has a rules.user of his own; the other views are everyone's.

-- name: views
select v.name, v.event_id as version, v.position, v.ts, v.channel, e.actor_type, e.actor_id,
       char_length(v.text) as size
from view_texts v join events e on e.tenant_id = v.tenant_id and e.event_id = v.event_id
where v.tenant_id = $1 and v.sensitivity = any($2::text[])
  and (v.channel = any($3::text[]) or (v.channel = any($4::text[]) and v.user_id = $5))
  and v.position <= $6 and (v.until is null or v.until > $6)
order by v.name;

-- name: view
-- The version that $8 names, or the one that holds at $6.
select v.name, v.event_id as version, v.position, v.ts, v.channel, e.actor_type, e.actor_id,
       char_length(v.text) as size, v.text
from view_texts v join events e on e.tenant_id = v.tenant_id and e.event_id = v.event_id
where v.tenant_id = $1 and v.sensitivity = any($2::text[])
  and (v.channel = any($3::text[]) or (v.channel = any($4::text[]) and v.user_id = $5))
  and v.position <= $6 and v.name = $7
  and v.owner = case when $7 = 'rules.user' then $5 else '' end
  and case when $8::text is null then v.until is null or v.until > $6 else v.event_id = $8 end;

-- name: history
select v.name, v.event_id as version, v.position, v.ts, v.channel, e.actor_type, e.actor_id,
       char_length(v.text) as size
from view_texts v join events e on e.tenant_id = v.tenant_id and e.event_id = v.event_id
where v.tenant_id = $1 and v.sensitivity = any($2::text[])
  and (v.channel = any($3::text[]) or (v.channel = any($4::text[]) and v.user_id = $5))
  and v.position <= $6 and v.name = $7
  and v.owner = case when $7 = 'rules.user' then $5 else '' end
order by v.position desc limit $8;

-- name: summaries
-- A summary is stale when what it cites is gone, or no longer what holds. An earlier state of a task
-- beside a later one is cited for what it said that still holds: its title.
select s.summary_id, s.event_id, s.position, s.ts, s.about as session_id, s.text, s.trust,
       s.refs as cites, s.user_id, s.agent_id, s.channel, s.sensitivity,
       exists (
         with recursive cited (event_id, beside) as (  -- what a cited summary cites, too
           select unnest(s.refs), s.refs
           union
           select unnest(o.refs), o.refs from cited c join summaries o
             on o.tenant_id = s.tenant_id and o.summary_id = 'sum_' || substr(c.event_id, 5))
         select from cited
         left join events e on e.tenant_id = s.tenant_id and e.event_id = cited.event_id
         where e.event_id is null
            or exists (select from decisions d
                       where d.tenant_id = s.tenant_id and d.position = e.position and d.until <= $6)
            or exists (select from tasks t
                       where t.tenant_id = s.tenant_id and t.position = e.position and t.until <= $6
                         and not exists (select from tasks l
                                         where l.tenant_id = t.tenant_id and l.task_id = t.task_id
                                           and l.position > t.position
                                           and l.event_id = any(cited.beside)))
            or exists (select from view_texts v
                       where v.tenant_id = s.tenant_id and v.position = e.position
                         and v.until <= $6)) as stale
from summaries s
where s.tenant_id = $1 and s.sensitivity = any($2::text[])
  and (s.channel = any($3::text[]) or (s.channel = any($4::text[]) and s.user_id = $5))
  and s.position <= $6
  and ($7::text is null or s.about = $7)
  and ($8::text is null or s.summary_id = $8)
  and s.position < $9
order by s.position desc limit $10;

-- name: seen
select event_id from events
where tenant_id = $1 and sensitivity = any($2::text[])
  and (channel = any($3::text[]) or (channel = any($4::text[]) and user_id = $5))
  and event_id = any($6::text[]) and sensitivity = any($7::text[]);

-- name: passages
-- Of a session: the decisions and tasks that hold, then the newest messages.
select event_id, position, ordinal, rank, label, text, sensitivity from (
  select event_id, position, 0 as ordinal, 0 as rank, 'Decision: ' as label, decision as text,
         tenant_id, sensitivity, channel, user_id, session_id
  from decisions where tenant_id = $1 and until is null
  union all
  select event_id, position, 0, 1, 'Task (' || status || '): ', title,
         tenant_id, sensitivity, channel, user_id, session_id
  from tasks where tenant_id = $1 and until is null
  union all
  select event_id, position, ordinal, 2, actor_id || ': ', text,
         tenant_id, sensitivity, channel, user_id, session_id
  from chunks where tenant_id = $1 and kind = 'message') as said
where tenant_id = $1 and sensitivity = any($2::text[])
  and (channel = any($3::text[]) or (channel = any($4::text[]) and user_id = $5))
  and session_id = $6
order by rank, position desc, ordinal limit $7;
