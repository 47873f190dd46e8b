create table master_check (
  only_row     boolean primary key default true check (only_row),
  check_value  bytea not null
);

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

alter table tenant_keys enable row level security;
alter table tenant_keys force row level security;
create policy tenant on tenant_keys using (tenant_id = current_tenant());

grant select, insert on master_check, tenant_keys to memoryd_app;
