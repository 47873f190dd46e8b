-- What a bundle is made of. $2 sensitivities, $3 channels open to all readers of this kind, $4
-- channels open to the owner, $5 the owner, as in read.sql. A version holds from its `position` until
-- its `until`; the two halves of each union have an index each, one for the present and one for the past.
-- `+ 0` leaves the past its own: what has ended since then is none where that is the present, but
-- the planner, who cannot know that, would walk all that a tenant ever had by `position`.

-- name: gather
-- Everything but retrieval, at one position ($8, or the head) and in one round trip. Texts, tasks,
-- decisions and handoffs change seldom: what is still as the caller knows it ($16) is not read again.
with recursive head as (
  select coalesce((select position from events where tenant_id = $1 order by position desc limit 1),
                  0) as head),
at as (select head, least(coalesce($8::bigint, head), head) as position from head),
-- The id of the newest event by which any of these could have changed, equal in no two logs that
-- differ up to it, and how often they were made anew. The newest of a kind is the last up to the
-- kind's end, which only the index by kind can say: asked for by its position, a rare kind would be
-- looked for in the whole log.
version as (
  select concat((select e.event_id
                 from unnest(array['decision', 'erasure', 'handoff', 'task_update', 'view']) k (kind)
                 cross join lateral (
                   select e.kind, e.position, e.event_id from events e
                   where e.tenant_id = $1 and (e.kind, e.position) <= (k.kind, 9223372036854775807)
                   order by e.kind desc, e.position desc limit 1) e
                 where e.kind = k.kind
                 order by e.position desc limit 1),
                ' ', (select epoch from epochs where tenant_id = $1)) as version),
changed as (select version is distinct from $16::text as changed from version),
texts as (
  select t.*, t.sensitivity = any($2::text[]) and (t.channel = any($3::text[])
           or (t.channel = any($4::text[]) and t.user_id = $5)) as seen
  from at join view_texts t on t.tenant_id = $1
    and t.name = any(array['identity.' || $6, 'rules.org', 'rules.project', 'rules.user'])
    and t.owner = any(array['', $5])
    and t.position <= at.position and (t.until is null or t.until > at.position)),
-- Tasks and decisions: the newest thousand that hold at a moment, whether it is the present or not,
-- and of these more than there is room for; what is said again gives way to what is not.
todo as (  -- what is being done, and what this session has to do, before the newest of the rest
  select t.* from (
    select t.*, t.session_id = $7 as own,
           row_number() over (partition by t.session_id = $7, t.title, t.details
                              order by t.status, t.position desc) as time
    from (select t.* from (
      (select t.* from tasks t
       where t.tenant_id = $1 and t.until is null and t.status in ('doing', 'open')
         and t.position <= (select position from at) and t.sensitivity = any($2::text[])
         and (t.channel = any($3::text[]) or (t.channel = any($4::text[]) and t.user_id = $5))
       order by t.status, t.session_id <> $7, t.position desc limit 1000)
      union all
      (select t.* from tasks t
       where t.tenant_id = $1 and t.until > (select position from at) and t.status <> 'done'
         and t.position + 0 <= (select position from at) and t.sensitivity = any($2::text[])
         and (t.channel = any($3::text[]) or (t.channel = any($4::text[]) and t.user_id = $5))
       order by t.status, t.session_id <> $7, t.position + 0 desc limit 1000)
      ) t order by t.status, t.session_id <> $7, t.position desc limit 1000) t) t
  order by t.time > 1, t.status, not t.own, t.position desc limit $13 + 1),
decided as (
  select d.* from (
    select d.*, row_number() over (
             partition by d.scope, hashtextextended(row(d.decision, d.rationale, d.constraints,
                                                        d.alternatives, d.consequences)::text, 0)
             order by d.position desc) as time
    from (select d.* from (
      (select d.* from decisions d
       where d.tenant_id = $1 and d.until is null
         and d.position <= (select position from at) and d.sensitivity = any($2::text[])
         and (d.channel = any($3::text[]) or (d.channel = any($4::text[]) and d.user_id = $5))
       order by d.position desc limit 1000)
      union all
      (select d.* from decisions d
       where d.tenant_id = $1 and d.until > (select position from at)
         and d.position + 0 <= (select position from at) and d.sensitivity = any($2::text[])
         and (d.channel = any($3::text[]) or (d.channel = any($4::text[]) and d.user_id = $5))
       order by d.position + 0 desc limit 1000)
      ) d order by d.position desc limit 1000) d) d
  order by d.time > 1, d.position desc limit $14 + 1),
handed as (
  select h.*, h.sensitivity = any($2::text[]) and (h.channel = any($3::text[])
           or (h.channel = any($4::text[]) and h.user_id = $5)) as seen
  from at join handoffs h on h.tenant_id = $1 and h.to_agent = $6
    and h.position <= at.position and (h.until is null or h.until > at.position)
  where h.status = 'pending' or (h.status = 'accepted' and h.session_id = $7)
  order by seen desc, h.position desc limit 300),
-- Back through the conversation, a hundred chunks at a time, until they are twice what a window
-- holds: there what is said again costs nothing, and a long output of a tool one line.
walk as (
  select at.position + 1 as position, 0 as ordinal, '' as event_id, '' as kind, 0 as cost,
         0 as whole, 0::bigint as said, 0::bigint as place, 0::bigint as spent
  from at
  union all
  select n.position, n.ordinal, n.event_id, n.kind, n.cost, n.whole, n.said, w.place + n.place,
         w.spent + n.spent
  from walk w cross join lateral (
    select c.*, row_number() over back as place, sum(c.cost) over back as spent
    from (
      select c.position, c.ordinal, c.event_id, c.kind, c.whole,
             hashtextextended(c.text, 0) as said,
             case when c.kind in ('tool_result', 'artifact') and c.whole > $12 then 10
                  else c.token_est end
               + case when c.ordinal = 0 then 3 else 0 end as cost  -- a head has no fewer tokens
      from chunks c
      where c.tenant_id = $1 and c.session_id = $7
        and (c.position, c.ordinal) < (w.position, w.ordinal) and c.ordinal < $9
        and (c.ordinal = 0 or c.whole <= $12 or c.kind not in ('tool_result', 'artifact'))
        and c.kind in ('message', 'tool_call', 'tool_result', 'artifact')
        and c.sensitivity = any($2::text[])
        and (c.channel = any($3::text[]) or (c.channel = any($4::text[]) and c.user_id = $5))
      order by c.position desc, c.ordinal desc limit 100) c
    window back as (order by c.position desc, c.ordinal desc rows unbounded preceding)) n
  where w.place % 100 = 0 and w.place < $10 and w.spent < 2 * $11),
turns as (  -- what newer turns cost is known before a text is read: what has no room stays here
  select c.*, coalesce(sum(c.anew) over (order by c.position desc
                                         groups between unbounded preceding and 1 preceding), 0)
                as newer
  from (
    select c.*, case when row_number() over (partition by c.said order by c.place) = 1
                     then c.cost else 0 end as anew  -- what is said again is shown once
    from walk c where c.place > 0) c),
-- What this reader may not see is counted among the newest rows, a bounded number of each kind.
newest as (
  (select * from (
    (select t.sensitivity, t.channel, t.user_id, t.position from tasks t
     where t.tenant_id = $1 and t.until is null and t.status in ('open', 'doing')
       and t.position <= (select position from at)
     order by t.position desc limit 300)
    union all
    (select t.sensitivity, t.channel, t.user_id, t.position from tasks t
     where t.tenant_id = $1 and t.until > (select position from at) and t.status <> 'done'
       and t.position + 0 <= (select position from at)
     order by t.position + 0 desc limit 300)
    ) t order by t.position desc limit 300)
  union all
  (select * from (
    (select d.sensitivity, d.channel, d.user_id, d.position from decisions d
     where d.tenant_id = $1 and d.until is null
       and d.position <= (select position from at)
     order by d.position desc limit 300)
    union all
    (select d.sensitivity, d.channel, d.user_id, d.position from decisions d
     where d.tenant_id = $1 and d.until > (select position from at)
       and d.position + 0 <= (select position from at)
     order by d.position + 0 desc limit 300)
    ) d order by d.position desc limit 300)),
unseen as (
  select from newest where not (sensitivity = any($2::text[])
    and (channel = any($3::text[]) or (channel = any($4::text[]) and user_id = $5)))
  union all select from texts where not seen
  union all select from handed where not seen),
said as (
  select c.sensitivity, c.channel, c.user_id from chunks c
  where c.tenant_id = $1 and c.session_id = $7 and c.position <= (select position from at)
    and c.ordinal < $9
    and c.kind in ('message', 'tool_call', 'tool_result', 'artifact')
  order by c.position desc, c.ordinal desc limit 300)
select at.head, at.position, version.version,
  -- Rows as text, since most are known from the bundle before and need not be read again.
  case when changed then
  (select array_agg(row_to_json(t)::text order by t.name)
   from (select name, text, event_id, position from texts where seen) t) end as texts,
  case when changed then
  (select array_agg(row_to_json(t)::text order by t.status, t.session_id <> $7, t.position desc)
   from (select task_id, status, title, details, actor_type, actor_id, event_id, position, refs,
                session_id, own
         from todo order by time > 1, status, not own, position desc limit $13) t
  ) end as tasks,
  case when changed then
  (select array_agg(row_to_json(d)::text order by d.position desc)
   from (select decision_id, scope, decision, rationale, constraints, alternatives, consequences,
                conflicts, ts, actor_type, actor_id, event_id, position, refs,
                array(select c.nr - 1 from unnest(o.conflicts) with ordinality c (id, nr)
                      join decisions r on r.tenant_id = $1 and r.decision_id = c.id
                        and r.until <= (select position from at)
                      order by c.nr) as over  -- which conflicts are with what was superseded
         from decided o order by o.time > 1, o.position desc limit $14) d
  ) end as decisions,
  case when changed then
  (select array_agg(row_to_json(h)::text order by h.position desc)
   from (select handoff_id, status, from_agent, packet, event_id, position, refs
         from handed where seen order by position desc limit $15) h) end as handoffs,
  case when changed then array_remove(array[  -- sections of which not all was read
    case when (select count(*) from todo) > $13 then 'task_state' end,
    case when (select count(*) from decided) > $14 then 'decision_ledger' end,
    case when (select count(*) from handed where seen) > $15 then 'handoff_packet' end], null)
  end as more,
  (select array_agg(c.rows order by c.position desc) from (
     select c.position, json_agg(c order by c.ordinal)::text as rows
     from (select t.position, t.ordinal, t.event_id, t.kind, w.actor_type, w.actor_id, w.token_est,
                  w.whole, w.tool, w.path,
                  case when t.kind in ('tool_result', 'artifact') and t.whole > $12 then ''
                       else w.text end as text,
                  case when t.kind in ('tool_result', 'artifact') and t.ordinal = 0
                       then array(select a.artifact_id from artifacts a
                                  where a.tenant_id = $1 and a.event_id = t.event_id)
                  end as artifacts
           from turns t
           join chunks w on w.tenant_id = $1 and w.position = t.position and w.ordinal = t.ordinal
           where t.newer <= $11) c
     group by c.position having min(c.ordinal) = 0) c  -- an edge may lack its beginning
  ) as turns,
  array(select t.event_id from turns t
        where t.newer > $11 and t.ordinal = 0 order by t.position desc) as older_turns,
  array(select 'recent_window' from chunks c
        where c.tenant_id = $1 and c.session_id = $7
          and (c.position, c.ordinal) < (select w.position, w.ordinal from walk w
                                         order by w.place desc limit 1)
          and c.kind in ('message', 'tool_call', 'tool_result', 'artifact')
          and c.sensitivity = any($2::text[])
          and (c.channel = any($3::text[]) or (c.channel = any($4::text[]) and c.user_id = $5))
        order by c.position desc, c.ordinal desc limit 1) as more_turns,
  case when changed then (select count(*) from unseen) end as hidden,
  (select count(*) from said where not (sensitivity = any($2::text[])
     and (channel = any($3::text[]) or (channel = any($4::text[]) and user_id = $5)))
  ) as hidden_turns,
  exists (select from tenant_keys where tenant_id = $1) as sealing
from at, version, changed;

-- name: settle
-- Of events that were found ($2 positions), as of $3: what has been replaced since, which summaries
-- are stale, and what they cite. A cited event that is gone, or replaced, makes a summary stale; but
-- not an earlier state of a task beside a later one, which is cited for the title that still holds.
select p.position,
  coalesce(d.until <= $3, t.until <= $3, m.forgotten, false) as replaced,
  coalesce(m.forgotten, false) as forgotten,
  case when d.position is not null and (d.until is null or d.until > $3) then (
    select row_to_json(o) from (
      select d.*, array(select c.nr - 1 from unnest(d.conflicts) with ordinality c (id, nr)
                        join decisions r on r.tenant_id = $1 and r.decision_id = c.id
                          and r.until <= $3
                        order by c.nr) as over) o) end as decision,
  coalesce((with recursive cited (event_id, beside) as (
              select unnest(s.refs), s.refs
              union
              select unnest(o.refs), o.refs from cited c join summaries o
                on o.tenant_id = $1 and o.summary_id = 'sum_' || substr(c.event_id, 5))
            select bool_or(e.position is null or od.until <= $3 or ov.until <= $3
                           or ot.until <= $3 and not exists (
                             select from tasks l
                             where l.tenant_id = $1 and l.task_id = ot.task_id
                               and l.position > ot.position and l.event_id = any(r.beside)))
            from cited r
            left join events e on e.tenant_id = $1 and e.event_id = r.event_id
            left join decisions od on od.tenant_id = $1 and od.position = e.position
            left join tasks ot on ot.tenant_id = $1 and ot.position = e.position
            left join view_texts ov on ov.tenant_id = $1 and ov.position = e.position),
           false) as stale,
  array(select e.position from unnest(s.refs) r (event_id)
        join events e on e.tenant_id = $1 and e.event_id = r.event_id) as cites
from unnest($2::bigint[]) p (position)
left join decisions d on d.tenant_id = $1 and d.position = p.position
left join tasks t on t.tenant_id = $1 and t.position = p.position
left join summaries s on s.tenant_id = $1 and s.position = p.position
left join lateral (  -- a memory's text holds while some row of it has it, and was not forgotten
  select not bool_or(r.position <= $3 and (r.until is null or r.until > $3)
                     and r.is_active and not r.deleted) as forgotten
  from memories r where r.tenant_id = $1 and r.text_position = p.position) m on true;

-- name: add_receipt
-- In one trip: see keep_receipt. False if something was erased since the head ($7).
select keep_receipt($1, $2, $3, $4, $5, $6, $7);

-- name: receipt
-- Not a prompt's, which is no bundle.
select ts, position, inputs, items from receipts
where tenant_id = $1 and acb_id = $2 and starts_with(acb_id, 'acb_');

-- name: replay_texts
select name, text, event_id, position from view_texts
where tenant_id = $1 and position = any($2::bigint[]);

-- name: replay_tasks
select task_id, status, title, details, actor_type, actor_id, event_id, position, refs from tasks
where tenant_id = $1 and position = any($2::bigint[]);

-- name: replay_decisions
select decision_id, scope, decision, rationale, constraints, alternatives, consequences, conflicts,
       ts, actor_type, actor_id, event_id, position, refs
from decisions
where tenant_id = $1 and position = any($2::bigint[]);

-- name: replay_handoffs
select handoff_id, status, from_agent, packet, event_id, position, refs from handoffs
where tenant_id = $1 and position = any($2::bigint[]);

-- name: replay_chunks
select c.position, c.ordinal, c.chunk_id, c.event_id, c.ts, c.kind, c.actor_type, c.actor_id,
       case c.kind when 'tool_result' then 'tool' else coalesce(s.trust, c.actor_type) end as trust,
       c.token_est, c.whole, c.tool, c.path, c.text
from chunks c
left join summaries s on s.tenant_id = $1 and s.position = c.position and c.kind = 'summary'
where c.tenant_id = $1 and c.position = any($2::bigint[])
  and (c.ordinal < $3 or c.ordinal = any($4::int[]))
order by c.position desc, c.ordinal;
