-- name: lock
-- One process indexes a tenant at a time; the others find it busy and go on.
select pg_try_advisory_xact_lock(hashtextextended('memoryd.index.' || $1, 0));

-- name: wait
select pg_advisory_xact_lock(hashtextextended('memoryd.index.' || $1, 0));

-- name: wait_for_codes
-- An embedder at work would add its codes, after those before them are gone.
select pg_advisory_xact_lock(hashtextextended('memoryd.codes.' || model || '.' || $1, 0))
from (select distinct model from code_segments where tenant_id = $1) embedded;

-- name: segments
-- One row at least, for the epoch.
select coalesce((select epoch from epochs where tenant_id = $1), 0) as epoch,
       s.first_doc, s.docs, s.last_position
from (select) one left join segments s on s.tenant_id = $1
order by s.first_doc;

-- name: columns
select first_doc, columns from segments
where tenant_id = $1 and first_doc >= $2
order by first_doc;

-- name: names
select name from names
where tenant_id = $1 and name_id >= $2
order by name_id;

-- name: chunks_after
-- `parts` is how many chunks the chunk's event has.
select position, ordinal, ts, session_id, user_id, agent_id, channel, sensitivity, actor_type,
       actor_id, kind, tags, token_est, text,
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
     c as (delete from code_segments where tenant_id = $1)
insert into epochs (tenant_id, epoch) values ($1, 1)
on conflict (tenant_id) do update set epoch = epochs.epoch + 1;
