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
-- The chunks of events that a packet cites, in the order of $6.
select c.position, c.ordinal, c.chunk_id, c.event_id, c.ts, c.kind, c.actor_type, c.actor_id,
       case c.kind when 'tool_result' then 'tool' else coalesce(s.trust, c.actor_type) end as trust,
       c.token_est, c.text
from unnest($6::text[]) with ordinality q (event_id, place)
join events e on e.tenant_id = $1 and e.event_id = q.event_id
join chunks c on c.tenant_id = $1 and c.position = e.position and c.ordinal < $7
left join summaries s on s.tenant_id = $1 and s.position = c.position and c.kind = 'summary'
where c.sensitivity = any($2::text[])
  and (c.channel = any($3::text[]) or (c.channel = any($4::text[]) and c.user_id = $5))
order by q.place, c.ordinal;
