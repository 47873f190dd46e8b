-- name: chunks
select c.position, c.ordinal, c.chunk_id, c.event_id, c.session_id, c.ts, c.kind, c.channel,
       c.actor_type, c.actor_id, c.tags, c.token_est, c.text
from unnest($2::bigint[], $3::int[]) with ordinality q (position, ordinal, place)
join chunks c on c.tenant_id = $1 and c.position = q.position and c.ordinal = q.ordinal
order by q.place;

-- name: position_at
-- What had been recorded by then.
select coalesce(max(position), 0) from events
where tenant_id = $1 and recorded_at <= $2;
