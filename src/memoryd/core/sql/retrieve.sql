-- name: chunks
select c.position, c.ordinal, c.chunk_id, c.event_id, c.session_id, c.ts, c.kind, c.channel,
       c.actor_type, c.actor_id,
       case c.kind when 'tool_result' then 'tool'
         when 'summary' then (select s.trust from summaries s
                              where s.tenant_id = $1 and s.position = c.position)
         else c.actor_type end as trust,
       case when c.kind in ('tool_result', 'artifact')
            then array(select a.artifact_id from artifacts a
                       where a.tenant_id = $1 and a.event_id = c.event_id) end as artifacts,
       c.tags, c.token_est, c.whole, c.text
from unnest($2::text::bigint[], $3::text::int[]) with ordinality q (position, ordinal, place)
join chunks c on c.tenant_id = $1 and c.position = q.position and c.ordinal = q.ordinal
order by q.place;

-- name: position_at
-- Recording times rise with positions, so halving finds the last one up to a time without an index
-- of its own. Between two events that are gone, the one before them tells.
with recursive halving (low, high) as (
  select 0::bigint, coalesce((select max(position) from events where tenant_id = $1), 0)
  union all
  select case when m.before then m.middle else h.low end,
         case when m.before then h.high else m.middle - 1 end
  from halving h cross join lateral (
    select (h.low + h.high + 1) / 2 as middle,
           coalesce((select recorded_at from events
                     where tenant_id = $1 and position <= (h.low + h.high + 1) / 2
                     order by position desc limit 1) <= $2, true) as before) m
  where h.low < h.high)
select low from halving where low = high;
