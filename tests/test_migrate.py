"""The schema: installed, migrated, and refused with a reason where it cannot be."""

import asyncio

import asyncpg
import pytest

import conftest
from memoryd import daemon as composition
from memoryd.core import db, errors
from memoryd.core.config import Settings
from memoryd.custody import migrate
from memoryd.daemon import Daemon

CATALOG = """
select 'column' as what, c.relname || '.' || a.attname as name,
       format_type(a.atttypid, a.atttypmod) || a.attnotnull::text || a.attstorage::text
       || coalesce(pg_get_expr(d.adbin, d.adrelid), '') as definition
from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
where c.relnamespace = 'memoryd'::regnamespace and c.relkind = 'r'
union all
select 'table', c.relname, c.relrowsecurity::text || c.relforcerowsecurity::text
       || c.relowner::regrole::text || coalesce(c.relacl::text, '')
from pg_class c where c.relnamespace = 'memoryd'::regnamespace and c.relkind = 'r'
union all
select 'columns''s rights', a.attrelid::regclass || '.' || a.attname, a.attacl::text
from pg_attribute a join pg_class c on c.oid = a.attrelid
where c.relnamespace = 'memoryd'::regnamespace and a.attacl is not null
union all
select 'index', i.indexname, i.indexdef from pg_indexes i where i.schemaname = 'memoryd'
union all
select 'constraint', n.conrelid::regclass || '.' || n.conname, pg_get_constraintdef(n.oid)
from pg_constraint n where n.connamespace = 'memoryd'::regnamespace
union all
select 'trigger', g.tgrelid::regclass || '.' || g.tgname, pg_get_triggerdef(g.oid)
from pg_trigger g join pg_class c on c.oid = g.tgrelid
where c.relnamespace = 'memoryd'::regnamespace and not g.tgisinternal
union all
select 'policy', p.tablename || '.' || p.policyname,
       concat_ws(' ', p.permissive, p.roles::text, p.cmd, p.qual, p.with_check)
from pg_policies p where p.schemaname = 'memoryd'
union all
select 'function', f.proname, pg_get_functiondef(f.oid)
from pg_proc f where f.pronamespace = 'memoryd'::regnamespace
order by 1, 2, 3
"""


async def catalog(target: db.Target) -> list[tuple[str, ...]]:
    conn = await db.connect(target, None)
    rows = [tuple(row) for row in await conn.fetch(CATALOG)]
    await conn.close()
    return rows


async def install_by_migrations(target: db.Target) -> None:
    """As a database that has lived through every version."""
    conn = await db.connect(target, None)
    await conn.execute(db.query("migrate.make_roles"))
    async with conn.transaction():
        await conn.execute(db.query("migrate.as_owner"))
        first, *later = sorted(migrate.migrations().items())
        await conn.execute(first[1])
        await conn.execute(db.query("migrate.stamp"), first[0])
    await migrate.migrate(conn)
    await conn.close()
    assert later is not None


async def test_migrations_and_a_fresh_install_give_the_same_schema(
    database: db.Target, empty_database: db.Target
) -> None:
    await install_by_migrations(empty_database)

    assert await catalog(empty_database) == await catalog(database)


async def test_the_comparison_sees_a_difference(database: db.Target) -> None:
    before = await catalog(database)
    conn = await db.connect(database, db.OWNER)
    await conn.execute("alter table keys alter column role drop not null")
    await conn.close()

    assert await catalog(database) != before


async def test_two_migrators_at_once_install_one_schema(
    daemon: Daemon, empty_database: db.Target, database: db.Target
) -> None:
    conns = [await db.connect(empty_database, None) for _ in range(4)]
    await asyncio.gather(*(migrate.migrate(conn) for conn in conns))

    assert await conns[0].fetchval("select count(*) from memoryd.migrations") == len(
        migrate.migrations()
    )
    for conn in conns:
        await conn.close()
    assert await catalog(empty_database) == await catalog(database)


async def test_vectors_outlive_a_new_definition_of_the_views(database: db.Target) -> None:
    """Computing them takes hours where a replay takes minutes."""
    before = await catalog(database)
    conn = await db.connect(database, None)
    await conn.execute(
        """insert into token_codes (tenant_id, model, key, pooled, tokens)
           values ('t', 'm', 'key', 'pooled', 'tokens'); insert into names values ('t', 0, 'a');
           update view_definition set sha256 = 'an older one'"""
    )
    replay = await migrate.migrate(conn)
    kept = await conn.fetch("select key, tokens from token_codes")
    names = await conn.fetchval("select count(*) from names")
    await conn.close()

    assert replay
    assert [tuple(row) for row in kept] == [(b"key", b"tokens")]
    assert names == 0
    assert await catalog(database) == before


async def test_vectors_of_another_shape_are_not_kept(database: db.Target) -> None:
    conn = await db.connect(database, None)
    await conn.execute(
        """alter table token_codes add column older int;
           update view_definition set sha256 = 'an older one'"""
    )
    await migrate.migrate(conn)
    columns = await conn.fetchval(
        "select count(*) from pg_attribute where attrelid = 'token_codes'::regclass and attnum > 0"
    )
    aside = await conn.fetchval("select to_regclass('memoryd.kept_codes')")
    await conn.close()

    assert (columns, aside) == (5, None)


async def test_a_newer_schema_is_left_alone(database: db.Target) -> None:
    conn = await db.connect(database, None)
    await conn.execute("insert into migrations (version) values (9999)")

    with pytest.raises(errors.Unavailable, match="newer memoryd"):
        await migrate.migrate(conn)
    await conn.close()


async def test_an_old_server_is_named() -> None:
    with pytest.raises(errors.Unavailable, match=r"version 14; memoryd needs 15"):
        migrate.check_version(140_011)


async def login(target: db.Target, name: str, options: str = "") -> db.Target:
    """Another user of the same database."""
    conn = await db.connect(target, None)
    await conn.execute(f"drop role if exists {name}")
    await conn.execute(f"create role {name} login password 'pw' {options}")
    await conn.execute(f"grant create on database {target.arguments['database']} to {name}")
    await conn.close()
    return db.Target({**target.arguments, "user": name, "password": "pw"}, embedded=False)


async def drop_login(target: db.Target, name: str) -> None:
    conn = await db.connect(target, None)
    await conn.execute(f"drop owned by {name}; drop role {name}")
    await conn.close()


async def test_missing_rights_are_named_with_what_to_run(empty_database: db.Target) -> None:
    """The script that the message gives is then run, and it is enough."""
    poor = await login(empty_database, "poor")
    settings = Settings(database_url=conftest.dsn(poor))
    with pytest.raises(errors.Unavailable) as refused:
        async with composition.running(settings, print):
            pass
    script = refused.value.detail.partition("already):\n")[2]
    admin = await db.connect(empty_database, None)
    for statement in script.strip().rstrip(";").split(";"):
        if "create role" not in statement:  # other tests made them: roles belong to the server
            await admin.execute(statement)
    await admin.close()

    async with composition.running(settings, print) as running:
        assert await running.pool.fetchval("select current_user") == db.APP
    await drop_login(empty_database, "poor")


async def test_an_unreachable_server_is_named() -> None:
    settings = Settings(database_url="postgresql://nobody@127.0.0.1:1/none")

    with pytest.raises(errors.Unavailable, match="MEMORYD_DATABASE_URL"):
        async with composition.running(settings, print):
            pass


async def test_no_extension_is_needed(database: db.Target) -> None:
    conn = await db.connect(database, None)
    extensions = [row[0] for row in await conn.fetch("select extname from pg_extension")]
    await conn.close()

    assert extensions == ["plpgsql"]


async def test_tenant_id_comes_first_in_every_key(database: db.Target) -> None:
    conn = await db.connect(database, None)
    first_columns = await conn.fetch(
        """select n.conrelid::regclass::text || ' ' || n.conname, a.attname::text
           from pg_constraint n
           join pg_attribute a on a.attrelid = n.conrelid and a.attnum = n.conkey[1]
           where n.connamespace = 'memoryd'::regnamespace and n.contype in ('p', 'u', 'f')
             and n.conrelid not in ('memoryd.migrations'::regclass,
                                    'memoryd.view_definition'::regclass,
                                    'memoryd.master_check'::regclass,
                                    'memoryd.encoder'::regclass)"""
    )
    await conn.close()

    assert first_columns
    assert [name for name, column in first_columns if column != "tenant_id"] == []


async def test_row_security_is_forced_on_every_table_of_tenants(database: db.Target) -> None:
    conn = await db.connect(database, None)

    assert await conn.fetch(db.query("doctor.unprotected")) == []
    assert await conn.fetchval(db.query("doctor.bypass")) is False
    await conn.close()


async def test_the_daemon_role_cannot_set_row_security_aside(daemon: Daemon, tenant: str) -> None:
    async with daemon.pool.acquire() as conn:
        await conn.execute("set row_security = off")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await conn.fetch("select * from events")
        await conn.execute("reset row_security")
