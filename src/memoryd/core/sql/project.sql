-- The queries of views.py; views.sql is the schema of what they write.

-- name: add_decision
insert into decisions (tenant_id, decision_id, event_id, ts, status, scope, decision, rationale,
                       constraints, alternatives, consequences, supersedes, session_id, user_id,
                       agent_id, channel, sensitivity, refs)
values ($1, $2, $3, $4, 'active', $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17);

-- name: supersede
-- Answers who superseded it: this decision, or the one that was earlier. Only a row of the same
-- channel and sensitivity, and of the same user where it is private, is there to be changed.
update decisions
set status = 'superseded', superseded_by = coalesce(superseded_by, $3)
where tenant_id = $1 and decision_id = $2
  and channel = $4 and sensitivity = $5 and (channel <> 'private' or user_id = $6)
returning superseded_by;

-- name: add_task
insert into tasks (tenant_id, task_id, event_id, ts, status, title, details, refs, session_id,
                   user_id, agent_id, channel, sensitivity)
values ($1, $2, $3, $4, coalesce($5, 'open'), $6, coalesce($7, ''), $8, $9, $10, $11, $12, $13);

-- name: update_task
-- What the update does not mention stays as it was. Only a row of the same channel and sensitivity
-- is changed, so that nothing private gets into a public row.
update tasks
set event_id = $3, ts = $4, status = coalesce($5, status), title = coalesce($6, title),
    details = coalesce($7, details),
    refs = refs || array(select r from unnest($8::text[]) r where r <> all (refs))
where tenant_id = $1 and task_id = $2
  and channel = $9 and sensitivity = $10 and (channel <> 'private' or user_id = $11)
returning task_id;
