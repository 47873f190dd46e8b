-- name: lock
-- One process indexes a tenant at a time; the others find it busy and go on.
select pg_try_advisory_xact_lock(hashtextextended('memoryd.index.' || $1, 0));

-- name: wait
-- For indexers, and for embedders, who share the second lock: one at work would add codes of what
-- is gone, or in a place that is another's.
select pg_advisory_xact_lock(hashtextextended('memoryd.index.' || $1, 0)),
       pg_advisory_xact_lock(hashtextextended('memoryd.vectors.' || $1, 0));

-- name: segments
select first_doc, docs, last_position from segments
where tenant_id = $1
order by first_doc;

-- name: news
-- What tells a daemon whether it lacks anything, in one trip.
select coalesce(e.epoch, 0) as epoch, coalesce(e.deletions, 0) as deletions,
       (select coalesce(sum(docs), 0) from segments where tenant_id = $1) as flushed,
       (select coalesce(sum(docs), 0) from code_segments
        where tenant_id = $1 and model = $2) as coded,
       coalesce((select position from chunks where tenant_id = $1
                 order by position desc, ordinal desc limit 1), 0) as position,
       coalesce((select position from events where tenant_id = $1
                 order by position desc limit 1), 0) as head,
       exists (select from tenant_keys where tenant_id = $1) as sealed
from (select) one left join epochs e on e.tenant_id = $1;

-- name: columns
-- From the document `$2` on.
select substr(columns, greatest($2 - first_doc, 0) * (length(columns) / docs) + 1) as columns
from segments
where tenant_id = $1 and first_doc + docs > $2
order by first_doc;

-- name: names
select name from names
where tenant_id = $1 and name_id >= $2
order by name_id;

-- name: chunks_after
-- `parts` is how many chunks the chunk's event has.
select event_id, position, ordinal, ts, session_id, user_id, agent_id, channel, sensitivity,
       actor_type, actor_id, kind, tags, token_est, text,
       count(*) over (partition by position) as parts
from chunks
where tenant_id = $1 and position > $2 and position <= $3
order by position, ordinal;

-- name: stretch
-- The position after which `$3` chunks lie beyond `$2`, at the end of an event; null if fewer do.
select position from chunks
where tenant_id = $1 and position > $2
order by position, ordinal
offset $3 - 1 limit 1;

-- name: lacks
-- Whether the chunks up to a position are not all in segments.
select coalesce(max(last_position), 0) < $2 from segments
where tenant_id = $1;

-- name: add_segment
insert into segments (tenant_id, first_doc, docs, last_position, columns)
values ($1, $2, $3, $4, $5);

-- name: add_postings
insert into postings (tenant_id, term, first_doc, block)
select $1, t.term, $2, t.block from unnest($3::text[], $4::bytea[]) t (term, block);

-- name: add_names
insert into names (tenant_id, name_id, name)
select $1, $2 + t.at - 1, t.name from unnest($3::text[]) with ordinality t (name, at);

-- name: postings
select term, block from postings
where tenant_id = $1 and term = any($2::text[])
order by term, first_doc;

-- name: merge_postings
-- Blocks hold the documents' own numbers, so that joining the bytes is merging.
with old as (
  delete from postings
  where tenant_id = $1 and first_doc >= $2 and first_doc < $3
  returning term, first_doc, block)
insert into postings (tenant_id, term, first_doc, block)
select $1, term, $2, string_agg(block, ''::bytea order by first_doc) from old group by term;

-- name: merge_segments
with old as (
  delete from segments
  where tenant_id = $1 and first_doc >= $2 and first_doc < $3
  returning first_doc, docs, last_position, columns)
insert into segments (tenant_id, first_doc, docs, last_position, columns)
select $1, $2, sum(docs), max(last_position), string_agg(columns, ''::bytea order by first_doc)
from old;

-- name: clear
with s as (delete from segments where tenant_id = $1),
     p as (delete from postings where tenant_id = $1),
     n as (delete from names where tenant_id = $1),
     t as (delete from tombstones where tenant_id = $1),
     c as (delete from code_segments where tenant_id = $1)
insert into epochs (tenant_id, epoch) values ($1, 1)
on conflict (tenant_id) do update set epoch = epochs.epoch + 1, deletions = 0;

-- name: tombstones
select coalesce(array_agg(doc order by position, ordinal), '{}') from tombstones
where tenant_id = $1;

-- name: bury
with buried as (
  insert into tombstones (tenant_id, position, ordinal, doc)
  select $1, t.position, t.ordinal, t.doc
  from unnest($2::bigint[], $3::int[], $4::int[]) t (position, ordinal, doc)
  on conflict do nothing)
insert into epochs (tenant_id, epoch, deletions) values ($1, 0, 1)
on conflict (tenant_id) do update set deletions = epochs.deletions + 1;

-- name: replace_columns
update segments set columns = $3
where tenant_id = $1 and first_doc = $2;

-- name: blocks
select term, first_doc, block from postings
where tenant_id = $1 and first_doc = any($2::int[]);

-- name: replace_blocks
-- A block without documents goes, and with its last block the term.
merge into postings p
using unnest($2::text[], $3::int[], $4::bytea[]) t (term, first_doc, block)
on p.tenant_id = $1 and p.term = t.term and p.first_doc = t.first_doc
when matched and t.block = '' then delete
when matched then update set block = t.block;

-- name: codes
select model, first_doc, docs, codes from code_segments
where tenant_id = $1;

-- name: replace_codes
update code_segments set codes = $4
where tenant_id = $1 and model = $2 and first_doc = $3;

-- name: token_keys
select model, key from token_codes
where tenant_id = $1;

-- name: forget_tokens
delete from token_codes t using unnest($2::text[], $3::bytea[]) g (model, key)
where t.tenant_id = $1 and t.model = g.model and t.key = g.key;

-- name: forget_names
-- The number stays taken: a name is '' in no event.
update names set name = ''
where tenant_id = $1 and name_id = any($2::int[]);

-- name: begin_epoch
insert into epochs (tenant_id, epoch) values ($1, 1)
on conflict (tenant_id) do update set epoch = epochs.epoch + 1;
