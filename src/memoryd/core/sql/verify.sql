-- The queries of custody/verify.py: what is left of what was erased.

-- name: columns
-- Every column of every table of ours that could hold a text, and how to read it.
select c.relname::text as name,
       array_agg(case when t.typname in ('text', 'bytea') then quote_ident(a.attname)
                      else quote_ident(a.attname) || '::text' end order by a.attnum) as columns
from pg_class c
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
join pg_type t on t.oid = a.atttypid
where c.relnamespace = 'memoryd'::regnamespace and c.relkind = 'r'
  and (t.typcategory in ('S', 'A', 'U') or t.typname in ('json', 'jsonb', 'bytea'))
group by c.relname
order by c.relname;

-- name: values
-- Written for the texts of the chunks; `text` becomes the columns of another table.
select text from chunks;

-- name: named
-- Tables with a column that says whose a row is.
select c.relname::text as name, a.attname::text as said from pg_class c
join pg_attribute a on a.attrelid = c.oid and not a.attisdropped
where c.relnamespace = 'memoryd'::regnamespace and c.relkind = 'r' and a.attname = any($1::text[])
order by 1, 2;

-- name: count_named
-- Written for the users of the chunks.
select count(*) from chunks where tenant_id = $1 and user_id = $2;

-- name: count_tenant
select count(*) from chunks where tenant_id = $1;

-- name: count_placed
select count(*) from chunks where tenant_id = $1 and position = any($2::bigint[]);

-- name: count_artifacts
select count(*) from artifacts where tenant_id = $1 and event_id = any($2::text[]);

-- name: tombstones
select position, event_id,
       (session_id, user_id, agent_id, actor_id) = ('', '', '', '') and tags = '{}'
       and refs = '{}' and kind = 'erasure' and ts = recorded_at and idempotency_key is null
       and content - '{erased_by,replaced}'::text[] = '{}' as empty
from events
where tenant_id = $1 and content->>'erased_by' = $2
order by position;

-- name: blocks
select term, block from postings where tenant_id = $1 and term = any($2::text[]);
