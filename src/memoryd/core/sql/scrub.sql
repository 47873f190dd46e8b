-- The queries of custody/scrub.py, for the owner of the tables alone.

-- name: keyed
-- The idempotency keys of a stretch of the log.
select position, idempotency_key from events
where tenant_id = $1 and position > $2 and position <= $3 and idempotency_key is not null;

-- name: rewrite
-- The key goes: its hash is of what was said, and a retry could not repeat it.
update events
set content = $3, tags = $4, refs = $5, actor_id = $6, idempotency_key = null, request_hash = null
where tenant_id = $1 and position = $2;

-- name: artifact
select artifact_id, event_id, ts, kind, digest, size, media_type, meta from artifacts
where tenant_id = $1 and event_id = $2;

-- name: rewrite_artifact
update artifacts set digest = $3, size = $4, meta = $5, refs = $6, media_type = $7
where tenant_id = $1 and event_id = $2;

-- name: questions
select acb_id, inputs, items from receipts
where tenant_id = $1 and acb_id > $2 and inputs->'asked'->>'query_text' is not null
order by acb_id limit $3;

-- name: rewrite_receipt
update receipts set inputs = $3, items = $4
where tenant_id = $1 and acb_id = $2 and inputs <> '{}';
