create index artifacts_event on artifacts (tenant_id, event_id);

-- A receipt in one call: its tenant is named, and the transaction is that of the call. It may be
-- lost with the last instants before a crash; an event never is. An erasure holds the lock alone: it
-- sees every receipt written before it, and the later ones, which look after they have the lock, see
-- it; then nothing is kept, since the bundle was gathered when the log ended at `head`.
create function keep_receipt(tenant text, acb text, at timestamptz, place bigint, asked jsonb,
                             made jsonb, head bigint) returns boolean language plpgsql as $$
begin
  perform set_config('memoryd.tenant', tenant, true), set_config('synchronous_commit', 'off', true);
  perform pg_advisory_xact_lock_shared(hashtextextended('memoryd.receipts.' || tenant, 0));
  if exists (select from memoryd.events e
             where e.tenant_id = tenant and e.kind = 'erasure' and e.position > head) then
    return false;
  end if;
  insert into memoryd.receipts (tenant_id, acb_id, ts, position, inputs, items)
  values (tenant, acb, at, place, asked, made);
  return true;
end $$;
