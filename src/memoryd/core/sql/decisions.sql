-- As in read.sql, $2 to $5 are the reader's eyes; $6 is the position at which to look. A decision
-- is active from its position on, `until` it was superseded.

-- name: page
select decision_id, event_id, position, ts,
       case when until <= $6 then 'superseded' else 'active' end as status,
       scope, subject, decision, rationale, constraints, alternatives, consequences, supersedes,
       case when until <= $6 then superseded_by end as superseded_by,
       array(select c.id from unnest(d.conflicts) with ordinality c (id, nr)
             where not exists (select from decisions r where r.tenant_id = $1
                                 and r.decision_id = c.id and r.until <= $6)
             order by c.nr) as conflicts,
       session_id, user_id, agent_id, channel, sensitivity, refs
from decisions d
where tenant_id = $1 and sensitivity = any($2::text[])
  and (channel = any($3::text[]) or (channel = any($4::text[]) and user_id = $5))
  and position <= $6
  and ($7::text is distinct from 'active' or until is null or until > $6)
  and ($7::text is distinct from 'superseded' or until <= $6)
  and ($8::text is null or scope = $8)
  and refs @> $9::text[]
  and ($10::timestamptz is null or ts >= $10)
  and ($11::timestamptz is null or ts < $11)
  and ($12::bigint is null or position < $12)
order by position desc limit $13;

-- name: positions
select position from decisions
where tenant_id = $1 and sensitivity = any($2::text[])
  and (channel = any($3::text[]) or (channel = any($4::text[]) and user_id = $5))
  and position <= $6
  and ($7::text is distinct from 'active' or until is null or until > $6)
  and ($7::text is distinct from 'superseded' or until <= $6)
  and ($8::text is null or scope = $8)
  and refs @> $9::text[]
  and ($10::timestamptz is null or ts >= $10)
  and ($11::timestamptz is null or ts < $11);

-- name: named
select decision_id, event_id, position, ts,
       case when until <= $6 then 'superseded' else 'active' end as status,
       scope, subject, decision, rationale, constraints, alternatives, consequences, supersedes,
       case when until <= $6 then superseded_by end as superseded_by,
       array(select c.id from unnest(d.conflicts) with ordinality c (id, nr)
             where not exists (select from decisions r where r.tenant_id = $1
                                 and r.decision_id = c.id and r.until <= $6)
             order by c.nr) as conflicts,
       session_id, user_id, agent_id, channel, sensitivity, refs
from decisions d
where tenant_id = $1 and sensitivity = any($2::text[])
  and (channel = any($3::text[]) or (channel = any($4::text[]) and user_id = $5))
  and position <= $6
  and decision_id = any($7::text[])
order by position desc;

-- name: line
-- A decision replaces one at most and is replaced by one at most, so its lineage is a line. `union`
-- drops what was met before, and so ends the walk. Ids as an array are looked up in the index even
-- where the planner knows nothing of the table yet.
with recursive met as (
  select decision_id, supersedes, superseded_by from decisions
  where tenant_id = $1 and decision_id = $7
  union
  select d.decision_id, d.supersedes, d.superseded_by
  from met m
  join decisions d on d.tenant_id = $1 and d.decision_id = any(array[m.supersedes, m.superseded_by])
)
select decision_id, event_id, position, ts,
       case when until <= $6 then 'superseded' else 'active' end as status,
       scope, subject, decision, rationale, constraints, alternatives, consequences, supersedes,
       case when until <= $6 then superseded_by end as superseded_by,
       array(select c.id from unnest(d.conflicts) with ordinality c (id, nr)
             where not exists (select from decisions r where r.tenant_id = $1
                                 and r.decision_id = c.id and r.until <= $6)
             order by c.nr) as conflicts,
       session_id, user_id, agent_id, channel, sensitivity, refs
from decisions d
where tenant_id = $1 and sensitivity = any($2::text[])
  and (channel = any($3::text[]) or (channel = any($4::text[]) and user_id = $5))
  and position <= $6
  and decision_id = any(array(select met.decision_id from met))
order by position;
