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
create index chunks_session on chunks (tenant_id, session_id, position, ordinal);

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

-- The search index, made from the chunks alone. A document is a chunk; documents are numbered
-- densely in the order of the log, so that a block means the same in every segment, and segments
-- merge by joining their bytes. The newest chunks, in no segment yet, are scored from their rows.

create table segments (
  tenant_id      text not null,
  first_doc      int not null,
  docs           int not null check (docs > 0),
  last_position  bigint not null,  -- the chunks up to here are in segments
  columns        bytea not null,   -- a record a document: index.DOC
  primary key (tenant_id, first_doc)
);
alter table segments alter column columns set storage external;

create table postings (
  tenant_id  text not null,
  term       text not null,
  first_doc  int not null,
  block      bytea not null,  -- a record a document that has the term: index.POSTING
  primary key (tenant_id, term, first_doc)
);
alter table postings alter column block set storage external;

-- Sessions, users, agents and actors as numbers, in the order in which they first appear.
create table names (
  tenant_id  text not null,
  name_id    int not null,
  name       text not null,
  primary key (tenant_id, name_id)
);

-- How often the index was made anew.
create table epochs (
  tenant_id  text primary key,
  epoch      int not null
);

-- Vectors follow in the background, in the order of the log: what is embedded is a prefix of it.
create table code_segments (
  tenant_id      text not null,
  model          text not null,
  first_doc      int not null,
  docs           int not null check (docs > 0),
  last_position  bigint not null,
  last_ordinal   int not null,
  codes          bytea not null,  -- a record a document: vectors.CODE
  primary key (tenant_id, model, first_doc)
);
alter table code_segments alter column codes set storage external;

-- By the digest of the encoder's whole input, so that the same text is never encoded twice.
create table token_codes (
  tenant_id  text not null,
  model      text not null,
  key        bytea not null,
  pooled     bytea not null,
  tokens     bytea not null,
  primary key (tenant_id, model, key)
);
alter table token_codes alter column tokens set storage main;  -- in the row: 200 are read at once

alter table chunks enable row level security;
alter table chunks force row level security;
create policy tenant on chunks using (tenant_id = current_tenant());

alter table decisions enable row level security;
alter table decisions force row level security;
create policy tenant on decisions using (tenant_id = current_tenant());

alter table tasks enable row level security;
alter table tasks force row level security;
create policy tenant on tasks using (tenant_id = current_tenant());

alter table segments enable row level security;
alter table segments force row level security;
create policy tenant on segments using (tenant_id = current_tenant());

alter table postings enable row level security;
alter table postings force row level security;
create policy tenant on postings using (tenant_id = current_tenant());

alter table epochs enable row level security;
alter table epochs force row level security;
create policy tenant on epochs using (tenant_id = current_tenant());

alter table names enable row level security;
alter table names force row level security;
create policy tenant on names using (tenant_id = current_tenant());

alter table code_segments enable row level security;
alter table code_segments force row level security;
create policy tenant on code_segments using (tenant_id = current_tenant());

alter table token_codes enable row level security;
alter table token_codes force row level security;
create policy tenant on token_codes using (tenant_id = current_tenant());

grant select, insert, update, delete
  on chunks, decisions, tasks, segments, postings, names, epochs, code_segments, token_codes
  to memoryd_app;
