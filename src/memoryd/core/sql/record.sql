-- name: lock
-- Writers of one tenant go one after the other, so that positions are dense and in commit order.
-- Held to the end of the transaction; the head is read by the next statement, whose snapshot sees
-- what the writer before committed.
select set_config('memoryd.tenant', $1, true),
       pg_advisory_xact_lock(hashtextextended('memoryd.log.' || $1, 0));

-- name: head
select position, recorded_at from events
where tenant_id = $1
order by position desc limit 1;

-- name: add_tenant
insert into tenants (tenant_id, created_at) values ($1, $2)
on conflict do nothing;

-- name: by_key
select e.idempotency_key, e.request_hash, e.event_id, e.recorded_at,
       array(select c.chunk_id from chunks c
             where c.tenant_id = e.tenant_id and c.position = e.position
             order by c.ordinal) as chunk_ids
from events e
where e.tenant_id = $1 and e.idempotency_key = any($2::text[]);

-- name: add_event
insert into events (tenant_id, event_id, position, ts, recorded_at, session_id, user_id, agent_id,
                    channel, actor_type, actor_id, kind, sensitivity, tags, content, refs,
                    idempotency_key, request_hash)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18);

-- name: add_chunk
insert into chunks (tenant_id, chunk_id, event_id, position, ordinal, ts, session_id, user_id,
                    agent_id, channel, sensitivity, actor_type, actor_id, kind, tags, token_est,
                    whole, tool, path, importance, text)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
        $21);

-- name: add_artifact
insert into artifacts (tenant_id, artifact_id, event_id, ts, kind, digest, size, media_type,
                       session_id, user_id, agent_id, channel, sensitivity, meta, refs)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15);

-- name: add_piece
-- Content-addressed: the same bytes are kept once.
insert into artifact_pieces (tenant_id, digest, piece, bytes) values ($1, $2, $3, $4)
on conflict do nothing;
