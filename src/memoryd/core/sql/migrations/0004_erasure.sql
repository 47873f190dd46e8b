-- Erasure: the one way to rewrite the log, for its owner, and only beside a record of it.
create or replace function refuse_rewrite() returns trigger language plpgsql as $$
begin
  -- The one exception is erasure: the owner, in a transaction that has itself recorded, in the log
  -- of the tenant it works on, that and on whose word it erases.
  if tg_op <> 'TRUNCATE' and current_user = 'memoryd_owner' and exists (
    select from memoryd.events e
    where e.tenant_id = memoryd.current_tenant() and e.kind = 'erasure'
      and e.event_id = current_setting('memoryd.erasure', true)
      and e.xmin = pg_current_xact_id()::xid) then
    return null;
  end if;
  raise exception '% on % refused: the log is append-only', lower(tg_op), tg_table_name
    using errcode = 'insufficient_privilege';
end $$;

-- What is erased keeps its place: positions stay dense, and ids that others cite stay taken.
create function keep_place() returns trigger language plpgsql as $$
begin
  if (new.tenant_id, new.event_id, new.position, new.recorded_at)
     is distinct from (old.tenant_id, old.event_id, old.position, old.recorded_at) then
    raise exception 'event % keeps its place in the log', old.event_id
      using errcode = 'insufficient_privilege';
  end if;
  return new;
end $$;

create trigger keep_place before update on events
  for each row execute function keep_place();
