-- The queries of the package `memories`. First those of its projection: $1 to $4 are the tenant,
-- channel, sensitivity and user of the event, which changes only what is of the same.

-- name: taken
select exists (select from memories where tenant_id = $1 and memory_id = $2);

-- name: same_subject
-- An evicted one too: to change it brings it back, and two of one subject would contradict.
select memory_id, text from memories
where tenant_id = $1 and channel = $2 and sensitivity = $3 and user_id = $4 and subject_key = $5
  and until is null and type = 'fact' and is_active and not deleted and memory_id <> $6
order by born limit 1;

-- name: current
select tenant_id, memory_id, type, category, subject, subject_key, text, place_id, version,
       text_position, updated_at, created_at, born, session_id, user_id, agent_id, channel,
       sensitivity, is_active, deleted, evicted, refs, source_conversation_id, source_message_id
from memories
where tenant_id = $1 and channel = $2 and sensitivity = $3
  and (channel <> 'private' or user_id = $4)
  and memory_id = $5 and until is null;

-- name: current_place
select tenant_id, memory_id, type, category, subject, subject_key, text, place_id, version,
       text_position, updated_at, created_at, born, session_id, user_id, agent_id, channel,
       sensitivity, is_active, deleted, evicted, refs, source_conversation_id, source_message_id
from memories
where tenant_id = $1 and channel = $2 and sensitivity = $3 and user_id = $4
  and type = 'place' and place_id = $5 and until is null;

-- name: made_by
-- What a version was, by the event that made it.
select type, text, subject, subject_key, text_position, source_conversation_id, source_message_id
from memories
where tenant_id = $1 and memory_id = $2 and event_id = $3;

-- name: document_position
-- Where a user's document was last changed by something else than an eviction.
select coalesce(max(position), 0) from memories
where tenant_id = $1 and user_id = $2 and type in ('fact', 'place') and op <> 'evict';

-- name: end
update memories set until = $3
where tenant_id = $1 and memory_id = $2 and until is null;

-- name: put
insert into memories (tenant_id, memory_id, event_id, position, ts, op, type, category, subject,
                      subject_key, text, place_id, version, text_position, updated_at, created_at,
                      born, session_id, user_id, agent_id, channel, sensitivity, is_active, deleted,
                      evicted, refs, source_conversation_id, source_message_id)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
        $21, $22, $23, $24, $25, $26, $27, $28);

-- name: mention
insert into mentions (tenant_id, memory_id, position, event_id, ts, conversation_id, message_id)
values ($1, $2, $3, $4, $5, $6, $7);

-- name: erased_since
select exists (select from events
               where tenant_id = $1 and kind = 'erasure' and position > $2);

-- Reading: as in read.sql, $2 to $5 are the reader's eyes; $6 is the position at which to look.

-- name: page
select memory_id, type, category, subject, text, version, created_at, updated_at, user_id, agent_id,
       channel, sensitivity, is_active, deleted, evicted, source_conversation_id, source_message_id,
       event_id, position, born, place_id, count(*) over () as total
from memories
where tenant_id = $1 and sensitivity = any($2::text[])
  and (channel = any($3::text[]) or (channel = any($4::text[]) and user_id = $5))
  and position <= $6 and (until is null or until > $6)
  and user_id = $7 and type = any($8::text[])
  and ($9::text is null or category = $9)
  and ($10::text is null or subject_key = $10)
  and ($11 or is_active) and ($12 or not deleted) and ($13 or not evicted)
order by category, created_at, born
offset $14 limit $15;

-- name: recent
-- Newest first.
select memory_id, type, category, subject, text, version, created_at, updated_at, user_id, agent_id,
       channel, sensitivity, is_active, deleted, evicted, source_conversation_id, source_message_id,
       event_id, position, born, place_id
from memories
where tenant_id = $1 and sensitivity = any($2::text[])
  and (channel = any($3::text[]) or (channel = any($4::text[]) and user_id = $5))
  and position <= $6 and (until is null or until > $6)
  and user_id = $7 and type = any($8::text[]) and not deleted
  and ($9::timestamptz is null or type <> 'journal' or created_at >= $9)
order by created_at desc, born desc
limit $10;

-- name: one
select memory_id, type, category, subject, text, version, created_at, updated_at, user_id, agent_id,
       channel, sensitivity, is_active, deleted, evicted, source_conversation_id, source_message_id,
       event_id, position, born, place_id
from memories
where tenant_id = $1 and sensitivity = any($2::text[])
  and (channel = any($3::text[]) or (channel = any($4::text[]) and user_id = $5))
  and position <= $6 and (until is null or until > $6)
  and memory_id = $7 and type = any($8::text[]);

-- name: agent_of
-- Which agent keeps it.
select agent_id from memories
where tenant_id = $1 and memory_id = $2 and type in ('core', 'journal') and until is null;

-- name: place
select memory_id, type, category, subject, text, version, created_at, updated_at, user_id, agent_id,
       channel, sensitivity, is_active, deleted, evicted, source_conversation_id, source_message_id,
       event_id, position, born, place_id
from memories
where tenant_id = $1 and sensitivity = any($2::text[])
  and (channel = any($3::text[]) or (channel = any($4::text[]) and user_id = $5))
  and position <= $6 and (until is null or until > $6)
  and user_id = $7 and type = 'place' and place_id = $8 and not deleted;

-- name: found
-- The memories whose current text is of the events at these positions ($7), in that order.
select m.memory_id, m.type, m.category, m.subject, m.text, m.version, m.created_at, m.updated_at,
       m.user_id, m.agent_id, m.channel, m.sensitivity, m.is_active, m.deleted, m.evicted,
       m.source_conversation_id, m.source_message_id, m.event_id, m.position, m.born, m.place_id
from unnest($7::bigint[]) with ordinality q (position, place)
join memories m on m.tenant_id = $1 and m.text_position = q.position
where m.sensitivity = any($2::text[])
  and (m.channel = any($3::text[]) or (m.channel = any($4::text[]) and m.user_id = $5))
  and m.position <= $6 and (m.until is null or m.until > $6)
  and m.type = any($8::text[])
  and ($9::text is null or m.category = $9)
  and ($10::text is null or m.subject_key = $10)
  and ($11 or m.is_active) and ($12 or not m.deleted)
order by q.place, m.born;

-- name: versions
-- Each version by its first row: later rows of it only set a flag.
select distinct on (version) version, type, subject, text, updated_at as created_at, event_id, op,
       source_conversation_id, source_message_id
from memories
where tenant_id = $1 and sensitivity = any($2::text[])
  and (channel = any($3::text[]) or (channel = any($4::text[]) and user_id = $5))
  and position <= $6 and memory_id = $7
order by version, position;

-- name: mentions
-- A message that mentions a place twice mentions it, and did so when it first did.
select memory_id, conversation_id, message_id, ts from (
  select distinct on (memory_id, conversation_id, message_id)
         memory_id, conversation_id, message_id, ts, position
  from mentions
  where tenant_id = $1 and memory_id = any($2::text[]) and position <= $3
  order by memory_id, conversation_id, message_id, position) n
order by position;

-- name: last_change
-- When a user's document last changed, as far as the reader sees it.
select max(greatest(m.ts, (select max(n.ts) from mentions n
                           where n.tenant_id = $1 and n.memory_id = m.memory_id
                             and n.position <= $6)))
from memories m
where m.tenant_id = $1 and m.sensitivity = any($2::text[])
  and (m.channel = any($3::text[]) or (m.channel = any($4::text[]) and m.user_id = $5))
  and m.position <= $6 and m.user_id = $7 and m.type in ('fact', 'place');

-- name: by_key
-- The memory that an idempotency key was used for.
select content->>'memory_id' from events
where tenant_id = $1 and idempotency_key = $2 and kind = 'memory';

-- name: counts
-- How many memories each owner of one type had at position $4.
select user_id, type, count(*) as number from memories
where tenant_id = $1 and position <= $4 and (until is null or until > $4) and not deleted
  and type = any($2::text[]) and ($3::text is null or user_id = $3)
group by user_id, type order by user_id, type;
