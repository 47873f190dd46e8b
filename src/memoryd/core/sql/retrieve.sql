-- name: chunks
select c.position, c.ordinal, c.chunk_id, c.event_id, c.session_id, c.ts, c.kind, c.channel,
       c.actor_type, c.actor_id, c.tags, c.token_est, c.text
from unnest($2::bigint[], $3::int[]) with ordinality q (position, ordinal, place)
join chunks c on c.tenant_id = $1 and c.position = q.position and c.ordinal = q.ordinal
order by q.place;

-- name: recorded_at
select recorded_at from events
where tenant_id = $1 and position = $2;
