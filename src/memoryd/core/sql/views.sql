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
  whole        int not null,  -- tokens of all chunks of its event
  tool         text,  -- of an output, in its first chunk: what is said of it where it is too long
  path         text,
  importance   real not null,
  text         text not null,
  primary key (tenant_id, chunk_id),
  unique (tenant_id, position, ordinal)
);
create index chunks_session on chunks (tenant_id, session_id, position, ordinal);

-- What changes over time is kept by its versions: a row holds from its `position` on, and `until` the
-- position that replaced it, so that any moment of the log can be read again.

create table decisions (
  tenant_id      text not null,
  decision_id    text not null,
  event_id       text not null,
  position       bigint not null,
  until          bigint,  -- when it was superseded
  ts             timestamptz not null,
  scope          text not null check (scope in ('project', 'user', 'global')),
  subject        text,
  subject_key    text,  -- by which two subjects are the same, those of sealed decisions too
  decision       text not null,
  rationale      text[] not null,
  constraints    text[] not null,
  alternatives   text[] not null,
  consequences   text[] not null,
  supersedes     text,
  superseded_by  text,
  conflicts      text[] not null,  -- decisions then active that seem to speak of the same
  actor_type     text not null,  -- who said so
  actor_id       text not null,
  session_id     text not null,
  user_id        text not null,
  agent_id       text not null,
  channel        text not null,
  sensitivity    text not null,
  refs           text[] not null,
  primary key (tenant_id, decision_id),
  unique (tenant_id, position)
);
create index decisions_active on decisions (tenant_id, position) where until is null;
create index decisions_subject on decisions (tenant_id, subject_key, position)
  where until is null and subject_key is not null;
create index decisions_until on decisions (tenant_id, until);

create table tasks (
  tenant_id    text not null,
  task_id      text not null,
  event_id     text not null,
  position     bigint not null,
  until        bigint,
  ts           timestamptz not null,
  status       text not null check (status in ('open', 'doing', 'done')),
  title        text not null,
  details      text not null,
  actor_type   text not null,  -- who said so last
  actor_id     text not null,
  session_id   text not null,
  user_id      text not null,
  agent_id     text not null,
  channel      text not null,
  sensitivity  text not null,
  refs         text[] not null,
  primary key (tenant_id, task_id, position),
  unique (tenant_id, position)
);
create index tasks_current on tasks (tenant_id, status, position) where until is null;
create index tasks_until on tasks (tenant_id, until);

-- Texts that people edit: `identity.<agent>`, `rules.project`, `rules.user`, `rules.org`.
create table view_texts (
  tenant_id    text not null,
  name         text not null,
  owner        text not null,  -- the user whose it is; '' for what all share
  event_id     text not null,
  position     bigint not null,
  until        bigint,
  ts           timestamptz not null,
  text         text not null,
  session_id   text not null,
  user_id      text not null,
  agent_id     text not null,
  channel      text not null,
  sensitivity  text not null,
  refs         text[] not null,
  primary key (tenant_id, name, owner, position),
  unique (tenant_id, position)
);

create table summaries (
  tenant_id    text not null,
  summary_id   text not null,
  event_id     text not null,
  position     bigint not null,
  ts           timestamptz not null,
  about        text not null,  -- the session it sums up
  text         text not null,
  trust        text not null,  -- the lowest of its author and of all that it cites
  session_id   text not null,
  user_id      text not null,
  agent_id     text not null,
  channel      text not null,
  sensitivity  text not null,
  refs         text[] not null,  -- the events it cites
  primary key (tenant_id, summary_id),
  unique (tenant_id, position)
);
create index summaries_about on summaries (tenant_id, about, position);

create table handoffs (
  tenant_id    text not null,
  handoff_id   text not null,
  event_id     text not null,
  position     bigint not null,
  until        bigint,
  ts           timestamptz not null,
  status       text not null check (status in ('pending', 'accepted', 'rejected')),
  from_agent   text not null,
  to_agent     text not null,
  note         text not null,
  packet       text not null,
  answer       text not null,  -- what the receiver said to it
  session_id   text not null,  -- where it was accepted; until then, where it was made
  user_id      text not null,
  agent_id     text not null,
  channel      text not null,
  sensitivity  text not null,
  refs         text[] not null,
  primary key (tenant_id, handoff_id, position),
  unique (tenant_id, position)
);
create index handoffs_current on handoffs (tenant_id, to_agent, position) where until is null;

-- What is remembered: facts and places of a user, core and journal of an agent, a team's board.
create table memories (
  tenant_id      text not null,
  memory_id      text not null,
  event_id       text not null,
  position       bigint not null,
  until          bigint,
  ts             timestamptz not null,
  op             text not null,  -- what made this row
  type           text not null check (type in ('fact', 'place', 'core', 'journal', 'whiteboard')),
  category       text check (category in ('person', 'preference', 'context', 'project')),
  subject        text,
  subject_key    text,           -- by which two subjects are the same
  text           text not null,
  place_id       text,
  version        int not null,   -- rises with each new text, and when a journal entry becomes core
  text_position  bigint not null,  -- the event that this text is found by
  updated_at     timestamptz not null,  -- of this version
  created_at     timestamptz not null,
  born           bigint not null,  -- the position of its first event
  session_id     text not null,
  user_id        text not null,
  agent_id       text not null,
  channel        text not null,
  sensitivity    text not null,
  is_active      boolean not null,
  deleted        boolean not null,
  evicted        boolean not null,  -- from the user's document; still found
  refs           text[] not null,
  source_conversation_id  text,
  source_message_id       text,
  primary key (tenant_id, memory_id, position),
  unique (tenant_id, position)
);
create index memories_owner on memories (tenant_id, user_id, type, position);
create index memories_subject on memories (tenant_id, user_id, subject_key) where until is null;
create index memories_text on memories (tenant_id, text_position);

-- In which messages a place was mentioned.
create table mentions (
  tenant_id        text not null,
  memory_id        text not null,
  position         bigint not null,
  event_id         text not null,
  ts               timestamptz not null,
  conversation_id  text not null,
  message_id       text not null,
  primary key (tenant_id, memory_id, position),
  unique (tenant_id, position)
);

-- Texts that left the context and stay one call away; what they say is in their events.
create table stored_references (
  tenant_id     text not null,
  reference_id  text not null,  -- the event that stored it
  event_id      text not null,  -- the event that made this row
  position      bigint not null,
  until         bigint,
  ts            timestamptz not null,
  key           text not null,
  type          text not null,
  is_active     boolean not null,
  session_id    text not null,
  user_id       text not null,
  agent_id      text not null,
  channel       text not null,
  sensitivity   text not null,
  primary key (tenant_id, reference_id, position),
  unique (tenant_id, position)
);
create index references_key on stored_references (tenant_id, user_id, key) where until is null;

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

-- How often the index was made anew, and since then deleted from.
create table epochs (
  tenant_id  text primary key,
  epoch      int not null,
  deletions  int not null default 0
);

-- Deleted documents: they keep their numbers, so that blocks stay as they are, and exist for nobody.
create table tombstones (
  tenant_id  text not null,
  position   bigint not null,
  ordinal    int not null,
  doc        int not null,  -- rises with position and ordinal
  primary key (tenant_id, position, ordinal)
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

alter table view_texts enable row level security;
alter table view_texts force row level security;
create policy tenant on view_texts using (tenant_id = current_tenant());

alter table summaries enable row level security;
alter table summaries force row level security;
create policy tenant on summaries using (tenant_id = current_tenant());

alter table handoffs enable row level security;
alter table handoffs force row level security;
create policy tenant on handoffs using (tenant_id = current_tenant());

alter table memories enable row level security;
alter table memories force row level security;
create policy tenant on memories using (tenant_id = current_tenant());

alter table mentions enable row level security;
alter table mentions force row level security;
create policy tenant on mentions using (tenant_id = current_tenant());

alter table stored_references enable row level security;
alter table stored_references force row level security;
create policy tenant on stored_references using (tenant_id = current_tenant());

alter table segments enable row level security;
alter table segments force row level security;
create policy tenant on segments using (tenant_id = current_tenant());

alter table postings enable row level security;
alter table postings force row level security;
create policy tenant on postings using (tenant_id = current_tenant());

alter table epochs enable row level security;
alter table epochs force row level security;
create policy tenant on epochs using (tenant_id = current_tenant());

alter table tombstones enable row level security;
alter table tombstones force row level security;
create policy tenant on tombstones using (tenant_id = current_tenant());

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
  on chunks, decisions, tasks, view_texts, summaries, handoffs, memories, mentions,
     stored_references, segments, postings, names, epochs, tombstones, code_segments, token_codes
  to memoryd_app;
