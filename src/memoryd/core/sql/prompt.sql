-- The queries of memories/prompt.py. A pin is a receipt: which rows a session's prompt is made of,
-- never their text. Erasing a row, its user or the session empties the receipt, as any other.

-- name: pin
select position, ts, inputs, items from receipts
where tenant_id = $1 and acb_id = $2;

-- name: lock
-- An erasure holds it alone: it sees every receipt written before it, and the later ones see it.
select pg_advisory_xact_lock_shared(hashtextextended('memoryd.receipts.' || $1, 0));

-- name: add_pin
-- The first one stays. On disk when it is answered, unlike a bundle's: the next prompt must be equal.
insert into receipts (tenant_id, acb_id, ts, position, inputs, items)
select $1::text, $2::text, $3::timestamptz, $4::bigint, $5::jsonb, $6::jsonb
where not exists (select from events where tenant_id = $1 and kind = 'erasure' and position > $4)
on conflict (tenant_id, acb_id) do nothing;

-- name: rows
select memory_id, type, category, subject, text, version, created_at, updated_at, user_id, agent_id,
       channel, sensitivity, is_active, deleted, evicted, source_conversation_id, source_message_id,
       event_id, position, born, place_id
from memories
where tenant_id = $1 and position = any($2::bigint[]);

-- name: text
select text from view_texts
where tenant_id = $1 and position = $2;

-- name: accesses
-- How often a memory was handed to this user ($2) or agent ($3): in prompts, and in the newest $4
-- bundles. Ids of bundles begin with acb_ and sort by time; those of pins come after them.
with handed as (
  (select items, inputs->'reader' as reader, ts from receipts
   where tenant_id = $1 and acb_id > 'b')
  union all
  (select items, inputs->'reader' as reader, ts from receipts
   where tenant_id = $1 and acb_id < 'b' order by acb_id desc limit $4)),
shown as (
  select h.ts, (one->>1)::bigint as position
  from handed h, jsonb_each(h.items->'sections') part (name, said),
       jsonb_array_elements(part.said->'items') one
  where ($2::text is null or h.reader->>'user_id' = $2)
    and ($3::text is null or h.reader->>'agent_id' = $3)
    and one->>0 in ('memory', 'chunk'))
select m.memory_id, count(*) as access_count, max(s.ts) as last_accessed_at
from shown s join memories m on m.tenant_id = $1 and m.position = s.position
group by m.memory_id;
