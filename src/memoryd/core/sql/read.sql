-- Every read looks through a reader's eyes: $2 sensitivities, $3 channels open to all readers of
-- this kind, $4 channels open to the owner, $5 the owner.

-- name: event
select event_id, position, ts, recorded_at, tenant_id, session_id, user_id, agent_id, channel,
       actor_type, actor_id, kind, sensitivity, tags, content, refs
from events
where tenant_id = $1 and sensitivity = any($2::text[])
  and (channel = any($3::text[]) or (channel = any($4::text[]) and user_id = $5))
  and event_id = $6;

-- name: newest
select event_id, position, ts, recorded_at, tenant_id, session_id, user_id, agent_id, channel,
       actor_type, actor_id, kind, sensitivity, tags, content, refs
from events
where tenant_id = $1 and sensitivity = any($2::text[])
  and (channel = any($3::text[]) or (channel = any($4::text[]) and user_id = $5))
  and ($6::text is null or session_id = $6)
  and ($7::text is null or kind = $7)
  and ($8::text is null or actor_id = $8)
  and ($9::text[] is null or tags && $9)
  and ($10::timestamptz is null or ts >= $10)
  and ($11::timestamptz is null or ts < $11)
  and ($12::bigint is null or position < $12)
order by position desc limit $13;

-- name: oldest
select event_id, position, ts, recorded_at, tenant_id, session_id, user_id, agent_id, channel,
       actor_type, actor_id, kind, sensitivity, tags, content, refs
from events
where tenant_id = $1 and sensitivity = any($2::text[])
  and (channel = any($3::text[]) or (channel = any($4::text[]) and user_id = $5))
  and ($6::text is null or session_id = $6)
  and ($7::text is null or kind = $7)
  and ($8::text is null or actor_id = $8)
  and ($9::text[] is null or tags && $9)
  and ($10::timestamptz is null or ts >= $10)
  and ($11::timestamptz is null or ts < $11)
  and ($12::bigint is null or position > $12)
order by position limit $13;

-- name: artifact
select artifact_id, event_id, ts, kind, digest, size, media_type, meta
from artifacts
where tenant_id = $1 and sensitivity = any($2::text[])
  and (channel = any($3::text[]) or (channel = any($4::text[]) and user_id = $5))
  and artifact_id = $6;

-- name: piece
select bytes from artifact_pieces
where tenant_id = $1 and digest = $2 and piece = $3;

-- name: blob
select digest, size from artifacts
where tenant_id = $1 and event_id = $2;
