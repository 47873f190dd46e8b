-- The views: everything here can be dropped and replayed from the log to the same rows.
-- Changing this file makes `memoryd migrate` drop the views and replay them. No foreign keys: the
-- event is written by the same transaction, and checking each chunk cost more than writing it.

create table chunks (
  tenant_id    text not null,
  chunk_id     text not null,  -- derived from the event's id and the ordinal
  event_id     text not null,
  position     bigint not null,
  ordinal      int not null,
  ts           timestamptz not null,
  session_id   text not null,
  user_id      text not null,
  agent_id     text not null,
  channel      text not null,
  sensitivity  text not null,
  actor_type   text not null,
  actor_id     text not null,
  kind         text not null,
  tags         text[] not null,
  token_est    int not null,
  importance   real not null,
  text         text not null,
  primary key (tenant_id, chunk_id),
  unique (tenant_id, position, ordinal)
);

create table decisions (
  tenant_id      text not null,
  decision_id    text not null,
  event_id       text not null,
  ts             timestamptz not null,
  status         text not null check (status in ('active', 'superseded')),
  scope          text not null check (scope in ('project', 'user', 'global')),
  decision       text not null,
  rationale      text[] not null,
  constraints    text[] not null,
  alternatives   text[] not null,
  consequences   text[] not null,
  supersedes     text,
  superseded_by  text,
  session_id     text not null,
  user_id        text not null,
  agent_id       text not null,
  channel        text not null,
  sensitivity    text not null,
  refs           text[] not null,
  primary key (tenant_id, decision_id)
);
create index decisions_status on decisions (tenant_id, status, ts);

create table tasks (
  tenant_id    text not null,
  task_id      text not null,
  event_id     text not null,  -- the event that last changed it
  ts           timestamptz not null,
  status       text not null check (status in ('open', 'doing', 'done')),
  title        text not null,
  details      text not null,
  session_id   text not null,
  user_id      text not null,
  agent_id     text not null,
  channel      text not null,
  sensitivity  text not null,
  refs         text[] not null,
  primary key (tenant_id, task_id)
);
create index tasks_status on tasks (tenant_id, status, ts);

alter table chunks enable row level security;
alter table chunks force row level security;
create policy tenant on chunks using (tenant_id = current_tenant());

alter table decisions enable row level security;
alter table decisions force row level security;
create policy tenant on decisions using (tenant_id = current_tenant());

alter table tasks enable row level security;
alter table tasks force row level security;
create policy tenant on tasks using (tenant_id = current_tenant());

grant select, insert, update, delete on chunks, decisions, tasks to memoryd_app;
