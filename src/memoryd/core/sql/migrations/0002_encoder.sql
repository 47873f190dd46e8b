-- Which embedding model is in use, by the folder that holds it; no row: the one in the package.
create table encoder (
  only_row    boolean primary key default true check (only_row),
  folder      text not null
);

grant select on encoder to memoryd_app;
