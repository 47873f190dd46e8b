-- The queries of views.py; views.sql is the schema of what they write. A row is changed only by an
-- event of the same channel and sensitivity, and of the same user where it is private: nothing
-- private gets into a public row.

-- name: add_decision
insert into decisions (tenant_id, event_id, position, ts, session_id, user_id, agent_id, channel,
                       sensitivity, refs, decision_id, scope, subject, decision, rationale,
                       constraints, alternatives, consequences, supersedes, conflicts,
                       subject_key, actor_type, actor_id)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
        $21, (select actor_type from events where tenant_id = $1 and event_id = $2),
        (select actor_id from events where tenant_id = $1 and event_id = $2));

-- name: supersede
-- Answers which decision it was, and who superseded it: this decision, or the one that was earlier.
-- What replaced one that was erased since ($5) replaces what that had replaced, or it would hold
-- again beside its successor.
with recursive named (decision_id) as (
  select $5::text
  union
  select e.content->>'replaced' from named n
  join events e on e.tenant_id = $1 and e.event_id = 'evt_' || substr(n.decision_id, 5)
    and e.kind = 'erasure'
  join events act on act.tenant_id = $1 and act.event_id = e.content->>'erased_by'
    and act.position > $7)
update decisions
set superseded_by = coalesce(superseded_by, $6), until = coalesce(until, $7)
where tenant_id = $1 and decision_id = any(array(select n.decision_id from named n))
  and channel = $2 and sensitivity = $3 and (channel <> 'private' or user_id = $4)
returning decision_id, superseded_by;

-- name: erased_since
-- Whether an event ($2) was erased by one beyond the position $3.
select exists (
  select from events e
  join events act on act.tenant_id = e.tenant_id and act.event_id = e.content->>'erased_by'
  where e.tenant_id = $1 and e.event_id = $2 and e.kind = 'erasure' and act.position > $3);

-- name: erased
-- The first of these events that was erased, if one was.
select event_id from events
where tenant_id = $1 and event_id = any($2::text[]) and kind = 'erasure'
order by position limit 1;

-- name: last_of_line
with recursive line as (
  select decision_id, superseded_by from decisions where tenant_id = $1 and decision_id = $2
  union
  select d.decision_id, d.superseded_by
  from line l join decisions d on d.tenant_id = $1 and d.decision_id = l.superseded_by)
select decision_id from line where superseded_by is null;

-- name: rivals
-- The active decisions that a new one may contradict: those of its subject ($6), however old, which
-- say something else than it ($7), and the newest of all, whose words may be much the same. `+ 0`
-- leaves the subject its index: by `position` the planner would walk back through all of them.
select decision_id, event_id, subject, decision from (
  (select decision_id, event_id, subject, decision, position from decisions
   where tenant_id = $1 and until is null and subject_key = $6 and decision <> $7 and scope = $5
     and channel = $2 and sensitivity = $3 and (channel <> 'private' or user_id = $4)
   order by position + 0 desc limit 200)
  union
  (select decision_id, event_id, subject, decision, position from decisions
   where tenant_id = $1 and until is null and scope = $5
     and channel = $2 and sensitivity = $3 and (channel <> 'private' or user_id = $4)
   order by position desc limit 200)) rivals
order by position desc;

-- name: add_task
insert into tasks (tenant_id, event_id, position, ts, session_id, user_id, agent_id, channel,
                   sensitivity, refs, task_id, status, title, details, actor_type, actor_id)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, coalesce($12, 'open'), $13,
        coalesce($14, ''), (select actor_type from events where tenant_id = $1 and event_id = $2),
        (select actor_id from events where tenant_id = $1 and event_id = $2));

-- name: update_task
-- What the update does not mention stays as it was.
with old as (
  update tasks set until = $6
  where tenant_id = $1 and task_id = $5 and until is null
    and channel = $2 and sensitivity = $3 and (channel <> 'private' or user_id = $4)
  returning *)
insert into tasks (tenant_id, event_id, position, ts, session_id, user_id, agent_id, channel,
                   sensitivity, refs, task_id, status, title, details, actor_type, actor_id)
select tenant_id, $7, $6, $8, session_id, user_id, agent_id, channel, sensitivity,
       refs || array(select r from unnest($9::text[]) r where r <> all (refs)),
       task_id, coalesce($10, status), coalesce($11, title), coalesce($12, details),
       (select e.actor_type from events e where e.tenant_id = $1 and e.event_id = $7),
       (select e.actor_id from events e where e.tenant_id = $1 and e.event_id = $7)
from old
returning task_id;

-- name: current_text
select event_id, channel from view_texts
where tenant_id = $1 and name = $2 and owner = $3 and until is null;

-- name: end_text
update view_texts set until = $4
where tenant_id = $1 and name = $2 and owner = $3 and until is null;

-- name: add_text
insert into view_texts (tenant_id, event_id, position, ts, session_id, user_id, agent_id, channel,
                        sensitivity, refs, name, owner, text)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13);

-- name: add_summary
-- Its trust is the lowest of its author's and of all that it cites, what they cite included: a
-- cited summary has its own already. Humans are trusted before agents, and agents before tools,
-- whose output is theirs whoever recorded it.
insert into summaries (tenant_id, event_id, position, ts, session_id, user_id, agent_id, channel,
                       sensitivity, refs, summary_id, about, text, trust)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
        (select (array['human', 'agent', 'tool'])[max(array_position(
                  array['human', 'agent', 'tool'],
                  case e.kind when 'tool_result' then 'tool'
                              else coalesce(s.trust, e.actor_type) end))]
         from events e
         left join summaries s on s.tenant_id = e.tenant_id and s.position = e.position
         where e.tenant_id = $1 and (e.event_id = $2 or e.event_id = any($10))));

-- name: add_handoff
insert into handoffs (tenant_id, event_id, position, ts, session_id, user_id, agent_id, channel,
                      sensitivity, refs, handoff_id, status, from_agent, to_agent, note, packet,
                      answer)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'pending', $7, $12, $13, $14, '');

-- name: answer_handoff
-- Answers the status it had: only a pending one is changed.
with found as (
  select status, position from handoffs
  where tenant_id = $1 and handoff_id = $2 and to_agent = $3 and until is null),
old as (
  update handoffs h set until = $4 from found f
  where h.tenant_id = $1 and h.handoff_id = $2 and h.position = f.position
    and f.status = 'pending'
  returning h.*),
fresh as (
  insert into handoffs (tenant_id, event_id, position, ts, session_id, user_id, agent_id, channel,
                        sensitivity, refs, handoff_id, status, from_agent, to_agent, note, packet,
                        answer)
  select tenant_id, $5, $4, $6, $7, user_id, agent_id, channel, sensitivity, refs, handoff_id, $8,
         from_agent, to_agent, note, packet, $9
  from old)
select status from found;
