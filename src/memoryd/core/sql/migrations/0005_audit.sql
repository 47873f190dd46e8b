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

alter table audit enable row level security;
alter table audit force row level security;
create policy tenant on audit using (tenant_id = current_tenant());

grant select, insert on audit to memoryd_app;
