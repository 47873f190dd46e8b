-- name: unprotected
-- Tables with rows of tenants that row security does not cover, or not for their owner.
select c.relname::text from pg_class c
join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id'
where c.relnamespace = 'memoryd'::regnamespace and c.relkind = 'r'
  and not (c.relrowsecurity and c.relforcerowsecurity)
order by 1;

-- name: rewritable
-- Tables of the log without an enabled trigger against update, delete (1 << 3, 1 << 4) and
-- truncate (1 << 5).
select t.name from unnest(array['events', 'artifacts', 'artifact_pieces', 'receipts']) t (name)
where not exists (
  select from pg_trigger g
  where g.tgrelid = to_regclass('memoryd.' || t.name) and g.tgenabled in ('O', 'A')
    and g.tgtype & 56 = 56)
order by 1;

-- name: bypass
select r.rolsuper or r.rolbypassrls
       or exists (select from pg_class c
                  where c.relnamespace = 'memoryd'::regnamespace and c.relowner = r.oid)
from pg_roles r where r.rolname = 'memoryd_app';

-- name: views_complete
select coalesce((select complete from memoryd.view_definition), false);
