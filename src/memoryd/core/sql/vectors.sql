-- name: folder
select folder from encoder;

-- name: use
insert into encoder (folder) values ($1)
on conflict (only_row) do update set folder = excluded.folder;

-- name: lock
-- One embedder a model, and none beside whoever rewrites codes (`index.wait`).
select pg_try_advisory_xact_lock_shared(hashtextextended('memoryd.vectors.' || $1, 0))
       and pg_try_advisory_xact_lock(hashtextextended('memoryd.codes.' || $2 || '.' || $1, 0));

-- name: segments
select first_doc, docs, last_position, last_ordinal from code_segments
where tenant_id = $1 and model = $2
order by first_doc;

-- name: codes
-- From the document `$3` on.
select substr(codes, greatest($3 - first_doc, 0) * (length(codes) / docs) + 1) as codes
from code_segments
where tenant_id = $1 and model = $2 and first_doc + docs > $3
order by first_doc;

-- name: pending
select count(*) from chunks
where tenant_id = $1 and (position, ordinal) > ($2, $3) and sensitivity <> all ($4::text[]);

-- name: next
-- The places of the next documents, deleted ones too, since they keep their numbers.
(select position, ordinal from chunks
 where tenant_id = $1 and (position, ordinal) > ($2, $3)
 order by position, ordinal limit $4)
union
(select position, ordinal from tombstones
 where tenant_id = $1 and (position, ordinal) > ($2, $3)
 order by position, ordinal limit $4)
order by position, ordinal limit $4;

-- name: inputs
-- Each chunk with the one before it in its session. A vector tells of the context it was computed
-- with, so that is taken only from the same user and channel, and from nothing more sensitive.
-- What was deleted gets as little of a vector as what is secret.
select coalesce(c.sensitivity, 'secret') as sensitivity, c.ts, c.actor_id, c.text,
       p.actor_id as before_actor, p.text as before_text
from unnest($2::bigint[], $3::int[]) with ordinality q (position, ordinal, place)
left join chunks c on c.tenant_id = $1 and c.position = q.position and c.ordinal = q.ordinal
left join lateral (
  select b.actor_id, b.text from chunks b
  where b.tenant_id = $1 and b.session_id = c.session_id
    and (b.position, b.ordinal) < (c.position, c.ordinal)
    and b.user_id = c.user_id and b.channel = c.channel
    and array_position(array['none', 'low', 'high', 'secret'], b.sensitivity)
        <= array_position(array['none', 'low', 'high', 'secret'], c.sensitivity)
  order by b.position desc, b.ordinal desc limit 1) p on true
order by q.place;

-- name: known
select key, pooled from token_codes
where tenant_id = $1 and model = $2 and key = any($3::bytea[]);

-- name: add_tokens
insert into token_codes (tenant_id, model, key, pooled, tokens)
select $1, $2, t.key, t.pooled, t.tokens
from unnest($3::bytea[], $4::bytea[], $5::bytea[]) t (key, pooled, tokens)
on conflict do nothing;

-- name: add_segment
insert into code_segments (tenant_id, model, first_doc, docs, last_position, last_ordinal, codes)
values ($1, $2, $3, $4, $5, $6, $7);

-- name: merge_segments
with old as (
  delete from code_segments
  where tenant_id = $1 and model = $2 and first_doc >= $3 and first_doc < $4
  returning first_doc, docs, last_position, last_ordinal, codes)
insert into code_segments (tenant_id, model, first_doc, docs, last_position, last_ordinal, codes)
select $1, $2, $3, sum(docs), max(last_position), (array_agg(last_ordinal order by first_doc desc))[1],
       string_agg(codes, ''::bytea order by first_doc)
from old;

-- name: tokens
-- By 32: as many messages as rows, 7 KB each, would wake the reader as often (1.5 ms for 200).
select array_agg(key) as keys, array_agg(tokens) as tokens
from (select key, tokens, row_number() over () / 32 as part from token_codes
      where tenant_id = $1 and model = $2 and key = any($3::bytea[])) found
group by part;
