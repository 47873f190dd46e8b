-- Through a reader's eyes: $2 sensitivities, $3 channels, $4 own channels, $5 the owner.

-- name: list
select handoff_id, event_id, position, ts, status, from_agent, to_agent, note, packet, answer,
       session_id, channel, refs
from handoffs
where tenant_id = $1 and until is null and sensitivity = any($2::text[])
  and (channel = any($3::text[]) or (channel = any($4::text[]) and user_id = $5))
  and ($6::text is null or handoff_id = $6)
  and ($7::text is null or to_agent = $7)
  and ($8::text is null or from_agent = $8)
  and ($9::text is null or status = $9)
  and ($10::bigint is null or position < $10)
order by position desc limit $11;

-- name: cited
-- Of the events ($6) that a packet cites: the first chunk of each in their order, then the second
-- ones, up to $7. An event without a text has a row without a chunk.
select e.position, c.ordinal, c.chunk_id, e.event_id, e.ts, e.kind, e.actor_type, e.actor_id,
       case e.kind when 'tool_result' then 'tool' else coalesce(s.trust, e.actor_type) end as trust,
       c.token_est, c.text
from unnest($6::text[]) with ordinality q (event_id, place)
join events e on e.tenant_id = $1 and e.event_id = q.event_id
left join chunks c on c.tenant_id = $1 and c.position = e.position and c.ordinal < $7
left join summaries s on s.tenant_id = $1 and s.position = e.position and e.kind = 'summary'
where e.sensitivity = any($2::text[])
  and (e.channel = any($3::text[]) or (e.channel = any($4::text[]) and e.user_id = $5))
order by c.ordinal, q.place;
