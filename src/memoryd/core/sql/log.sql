-- The ground truth: what cannot be rebuilt. A fresh install runs this file; an older database
-- reaches the same schema by `migrations/`, and a test compares the two.
--
-- Every table carries tenant_id first in every key (that is also what a sharded cluster needs),
-- and row-level security is FORCED: even the owner sees one tenant at a time.

create table migrations (
  version     int primary key,
  applied_at  timestamptz not null default now()
);

-- What views.sql looked like when the views were last made (another text means: make them anew),
-- and whether the log has been replayed into them since.
create table view_definition (
  only_row    boolean primary key default true check (only_row),
  sha256      bytea not null,
  complete    boolean not null
);

-- Which embedding model is in use, by the folder that holds it; no row: the one in the package.
create table encoder (
  only_row    boolean primary key default true check (only_row),
  folder      text not null
);

create table tenants (
  tenant_id   text primary key check (tenant_id <> ''),
  created_at  timestamptz not null
);

create table events (
  tenant_id        text not null references tenants,
  event_id         text not null,
  position         bigint not null check (position > 0),  -- dense, in commit order
  ts               timestamptz not null,                  -- when it happened
  recorded_at      timestamptz not null,                  -- when it was written; never runs backwards
  session_id       text not null,
  user_id          text not null,
  agent_id         text not null,
  channel          text not null check (channel in ('private', 'public', 'team', 'agent')),
  actor_type       text not null check (actor_type in ('human', 'agent', 'tool')),
  actor_id         text not null,
  kind             text not null check (kind in (
                     'message', 'tool_call', 'tool_result', 'decision', 'task_update', 'artifact',
                     'memory', 'view', 'summary', 'handoff', 'erasure')),
  sensitivity      text not null check (sensitivity in ('none', 'low', 'high', 'secret')),
  tags             text[] not null,
  content          jsonb not null,
  refs             text[] not null,
  idempotency_key  text,
  request_hash     bytea,
  primary key (tenant_id, event_id),
  unique (tenant_id, position),
  check ((idempotency_key is null) = (request_hash is null))
);
create unique index events_idempotency_key on events (tenant_id, idempotency_key)
  where idempotency_key is not null;
create index events_session on events (tenant_id, session_id, position);
create index events_kind on events (tenant_id, kind, position);
create index events_ts on events (tenant_id, ts);

create table artifacts (
  tenant_id    text not null,
  artifact_id  text not null,
  event_id     text not null,
  ts           timestamptz not null,
  kind         text not null check (kind in ('tool_output', 'blob')),
  digest       bytea not null,  -- sha-256 of the whole, keyed if sealed; kept once per tenant
  size         bigint not null check (size >= 0),
  media_type   text not null,
  session_id   text not null,
  user_id      text not null,
  agent_id     text not null,
  channel      text not null check (channel in ('private', 'public', 'team', 'agent')),
  sensitivity  text not null check (sensitivity in ('none', 'low', 'high', 'secret')),
  meta         jsonb not null,
  refs         text[] not null,
  primary key (tenant_id, artifact_id),
  foreign key (tenant_id, event_id) references events
);
create index artifacts_digest on artifacts (tenant_id, digest);
create index artifacts_event on artifacts (tenant_id, event_id);

create table artifact_pieces (
  tenant_id    text not null references tenants,
  digest       bytea not null,
  piece        int not null check (piece >= 0),
  bytes        bytea not null check (octet_length(bytes) <= 1100000),
  primary key (tenant_id, digest, piece)
);
-- The pieces come compressed; the server should not try again.
alter table artifact_pieces alter column bytes set storage external;

create table keys (
  tenant_id    text not null,
  key_id       text not null,
  key_hash     bytea not null,  -- sha-256 of 256 random bits; the key itself is shown once
  role         text not null check (role in ('reader', 'agent', 'admin')),
  user_id      text,
  agent_id     text,
  channel      text check (channel in ('private', 'public', 'team', 'agent')),
  created_at   timestamptz not null,
  revoked_at   timestamptz,
  primary key (tenant_id, key_id),
  unique (tenant_id, key_hash),
  foreign key (tenant_id) references tenants
);
create index keys_hash on keys (key_hash);

-- One row per bundle handed out: enough to replay it, never its text.
create table receipts (
  tenant_id    text not null,
  acb_id       text not null,
  ts           timestamptz not null,
  position     bigint not null,
  inputs       jsonb not null,
  items        jsonb not null,
  primary key (tenant_id, acb_id),
  foreign key (tenant_id) references tenants
);

-- What is `high` is sealed by keys of its tenant, which are wrapped by a master key that is not
-- here. This is enough to tell another master key at once.
create table master_check (
  only_row     boolean primary key default true check (only_row),
  check_value  bytea not null
);

-- The newest key whose `since` an event's position has reached is the one that seals it.
create table tenant_keys (
  tenant_id    text not null references tenants,
  number       int not null check (number > 0),
  key_id       text not null,
  since        bigint not null,
  wrapped      bytea not null,
  created_at   timestamptz not null,
  primary key (tenant_id, number),
  unique (tenant_id, key_id)
);

-- One row per request, without anything that was said; kept for MEMORYD_AUDIT_DAYS.
create table audit (
  tenant_id    text not null,
  access_id    text not null,  -- sorts by time
  at           timestamptz not null,
  key_id       text,           -- none: on loopback no key is needed
  role         text not null,
  method       text not null,
  route        text not null,  -- its pattern, never the path
  status       int not null,
  channel      text,
  user_id      text,
  agent_id     text,
  items        int not null,   -- things that the answer showed
  recorded     int not null,   -- events that it wrote
  ref          text,           -- the bundle, the event or the thing that was asked for
  primary key (tenant_id, access_id)
);
create index audit_at on audit (tenant_id, at);

-- Append-only is the database's promise, not the daemon's habit. Statement triggers, because row
-- triggers do not see truncate.
create function refuse_rewrite() returns trigger language plpgsql as $$
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

create trigger append_only before update or delete or truncate on events
  for each statement execute function refuse_rewrite();
create trigger append_only before update or delete or truncate on artifacts
  for each statement execute function refuse_rewrite();
create trigger append_only before update or delete or truncate on artifact_pieces
  for each statement execute function refuse_rewrite();
create trigger append_only before update or delete or truncate on receipts
  for each statement execute function refuse_rewrite();

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

create function current_tenant() returns text language sql stable parallel safe
  return current_setting('memoryd.tenant', true);

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

alter table tenants enable row level security;
alter table tenants force row level security;
create policy tenant on tenants using (tenant_id = current_tenant());
-- Rebuilding and indexing walk every tenant; only the owner may list them, and only their names.
create policy owner_lists on tenants for select to memoryd_owner using (true);

alter table events enable row level security;
alter table events force row level security;
create policy tenant on events using (tenant_id = current_tenant());

alter table artifacts enable row level security;
alter table artifacts force row level security;
create policy tenant on artifacts using (tenant_id = current_tenant());

alter table artifact_pieces enable row level security;
alter table artifact_pieces force row level security;
create policy tenant on artifact_pieces using (tenant_id = current_tenant());

alter table receipts enable row level security;
alter table receipts force row level security;
create policy tenant on receipts using (tenant_id = current_tenant());

alter table audit enable row level security;
alter table audit force row level security;
create policy tenant on audit using (tenant_id = current_tenant());

alter table keys enable row level security;
alter table keys force row level security;
create policy tenant on keys using (tenant_id = current_tenant());
-- A request proves that it holds a key by naming its hash, and sees that one row.
create policy holder on keys for select
  using (key_hash = decode(current_setting('memoryd.key_hash', true), 'hex'));
-- Only the owner may ask whether any key exists at all (an open address without one is refused).
create policy owner_counts on keys for select to memoryd_owner using (true);

alter table tenant_keys enable row level security;
alter table tenant_keys force row level security;
create policy tenant on tenant_keys using (tenant_id = current_tenant());

grant usage on schema memoryd to memoryd_app;
grant select on migrations, view_definition, encoder to memoryd_app;
grant select, insert on tenants, events, artifacts, artifact_pieces, receipts to memoryd_app;
grant select, insert on keys, audit to memoryd_app;
grant select, insert on master_check, tenant_keys to memoryd_app;
grant update (revoked_at) on keys to memoryd_app;
