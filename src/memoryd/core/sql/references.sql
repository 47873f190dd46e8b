-- The queries of the package `references`. What a reference says is in its event, which is joined:
-- what is sealed is opened there.

-- name: taken
-- Whether the user has a reference with this key, among what the writer sees.
select exists (
  select from stored_references
  where tenant_id = $1 and sensitivity = any($2::text[])
    and (channel = any($3::text[]) or channel = any($4::text[]))
    and user_id = $5 and key = $6 and until is null);

-- name: put
insert into stored_references (tenant_id, reference_id, event_id, position, ts, session_id, user_id,
                               agent_id, channel, sensitivity, key, type, is_active)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13);

-- name: current
select session_id, user_id, agent_id, channel, sensitivity, key, type, is_active
from stored_references
where tenant_id = $1 and channel = $2 and user_id = $3 and reference_id = $4 and until is null;

-- name: end
update stored_references set until = $3
where tenant_id = $1 and reference_id = $2 and until is null;

-- Reading: as in read.sql, $2 to $5 are the reader's eyes.

-- name: by_key
-- The reader's own; where a key was given in two channels, the one of the reader's ($8) first.
select reference_id from stored_references
where tenant_id = $1 and sensitivity = any($2::text[])
  and (channel = any($3::text[]) or (channel = any($4::text[]) and user_id = $5))
  and until is null and user_id = $6 and key = $7
order by (channel = $8) desc, position desc limit 1;

-- name: rows
-- These events ($6), as far as the reader sees them, with what is known of them as references.
select e.event_id, e.position, e.ts, e.session_id, e.user_id, e.agent_id, e.channel, e.kind,
       e.sensitivity, e.content, r.key, r.is_active, a.artifact_id, a.size, a.media_type,
       (select sum(c.token_est) from chunks c
        where c.tenant_id = $1 and c.position = e.position) as tokens,
       d.described, d.described_by
from events e
left join stored_references r
  on r.tenant_id = $1 and r.reference_id = e.event_id and r.until is null
left join artifacts a on a.tenant_id = $1 and a.event_id = e.event_id
left join lateral (  -- the last that was said of how it is described, by another than its own event
  select o.content->>'text' as described, o.actor_id as described_by
  from stored_references h
  join events o on o.tenant_id = $1 and o.event_id = h.event_id
  where h.tenant_id = $1 and h.reference_id = e.event_id and h.event_id <> e.event_id
    and o.content->>'op' = 'update'
  order by h.position desc limit 1) d on true
where e.tenant_id = $1 and e.sensitivity = any($2::text[])
  and (e.channel = any($3::text[]) or (e.channel = any($4::text[]) and e.user_id = $5))
  and e.event_id = any($6::text[]) and e.kind <> 'erasure';

-- name: page
-- Newest first; $6 the user, $7 the session, $8 the type, $9 also inactive ones, $10 before this
-- position of the log.
select r.reference_id from stored_references r
join events e on e.tenant_id = $1 and e.event_id = r.reference_id
where r.tenant_id = $1 and r.sensitivity = any($2::text[])
  and (r.channel = any($3::text[]) or (r.channel = any($4::text[]) and r.user_id = $5))
  and r.until is null
  and ($6::text is null or r.user_id = $6)
  and ($7::text is null or r.session_id = $7)
  and ($8::text is null or r.type = $8)
  and ($9 or r.is_active)
  and ($10::bigint is null or e.position < $10)
order by e.position desc limit $11;

-- name: positions
-- Where the active references of a reader are in the log; $6 to $8 as in `page`.
select e.position from stored_references r
join events e on e.tenant_id = $1 and e.event_id = r.reference_id
where r.tenant_id = $1 and r.sensitivity = any($2::text[])
  and (r.channel = any($3::text[]) or (r.channel = any($4::text[]) and r.user_id = $5))
  and r.until is null and r.is_active
  and ($6::text is null or r.user_id = $6)
  and ($7::text is null or r.session_id = $7)
  and ($8::text is null or r.type = $8);
