"""The rules of the house, kept by a test."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

from memoryd.core import db, views
from memoryd.custody import migrate
from memoryd.daemon import Daemon
from memoryd.search import index, vectors

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "memoryd"
CORE = PACKAGE / "core"
SEARCH = PACKAGE / "search"
OURS = sorted(path for path in ROOT.glob("*/**/*.py") if ".venv" not in path.parts)
SQL = sorted(path for path in (CORE / "sql").glob("*.sql") if path.stem not in ("log", "views"))

CORE_LINES = 2_000
SEARCH_LINES = 1_500
FILE_LINES = 300
FUNCTION_LINES = 40

# Each group may import those before it; `doors` stand last, since they only parse and answer.
GROUPS = [
    {"core.model", "core.errors", "core.config", "redact.rules", "seal.vault"},
    {"redact", "core.values", "neutral", "violations"},
    {"references.model", "references.json_path"},
    {"memories.model"},
    {"core.ids", "core.tokens", "core.chunk", "core.content", "core.privacy", "seal.rows"},
    {"references.describe", "references.parts", "references.swap", "references.draft"},
    {"core.render", "similar"},
    {"core.item"},
    {"core.pack"},
    {"core.items"},
    {"search.analyze", "search.dates", "search.score", "embed.wordpiece"},
    {"search.words", "seal.master", "seal.connection", "references.intent_words"},
    {"ledger.extract"},
    {"core.db", "embedded", "embed"},
    {"references.project"},
    {"seal.keys", "memories.project", "memories.blocks", "memories.growth"},
    {"memories.command", "memories.alike"},
    {"memories.findings"},
    {"memories.proposals", "completion"},
    {"references.intent"},
    {"memories.wording"},
    {"custody.migrate", "core.read", "core.views", "seal.store", "seal.receipts", "custody.keys"},
    {"custody.audit"},
    {"core.record"},
    {"core.group"},
    {"search.index"},
    {"search.postings"},
    {"search.corpus"},
    {"search.vectors", "search.stage"},
    {"search.retrieve"},
    {"search.encoders", "custody.rebuild"},
    {"search.searcher", "search.worker"},
    {"custody.erase", "custody.files"},
    {"custody.sweep", "custody.verify"},
    {"custody.erasure", "custody.scrub"},
    {"core.receipt"},
    {"core.context"},
    {"ledger"},
    {"daemon"},
    {"recording", "bundling", "searching"},
    {"memories.read"},
    {"memories.write"},
    {"memories.document"},
    {"memories.facts", "memories.places", "memories.agents", "memories.refuse", "memories.find"},
    {"references.read"},
    {"references.write"},
    {"memories.choose", "memories.change", "references.wording"},
    {"memories.prompt", "memories.chat", "memories.consolidate"},
    {"tools.definition"},
    {"tools.registry", "tools.arguments", "tools.results", "tools.call"},
    {"tools.references", "tools.log"},
    {"tools.catalog"},
    {"tools.run_references", "tools.run_log"},
    {"tools.run"},
    {"custody.doctor", "custody.markdown", "custody.isolation"},
    {"doors"},
    {"client"},
    {"integrations.opening", "integrations.pruning"},
    {"integrations.autogen_messages", "integrations.agent_framework_messages"},
    {"integrations.autogen", "integrations.agent_framework"},
    {"__main__"},
]
PURE = {"model", "errors", "ids", "chunk", "content", "privacy", "analyze", "dates", "wordpiece"}
PURE |= {
    "violations",
    "values",
    "vault",
    "words",
    "score",
    "render",
    "similar",
    "item",
    "pack",
    "items",
}
PURE |= {"extract", "blocks", "growth", "command", "alike", "findings", "proposals"}
PURE |= {"definition", "registry", "catalog", "arguments", "results"}
PURE |= {"intent_words", "describe", "parts", "json_path", "swap", "draft"}
IMPURE = {"asyncpg", "asyncio", "os", "socket", "random", "secrets", "time", "httpx", "fastapi"}


def code_lines(path: Path) -> int:
    """Lines with code on them: no blanks, no comments, no docstrings."""
    source = path.read_text()
    lines: set[int] = set()
    quiet = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in (*quiet, tokenize.ENDMARKER):
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and (
            ast.get_docstring(node, clean=False) is not None
        ):
            said = node.body[0]
            lines -= set(range(said.lineno, (said.end_lineno or said.lineno) + 1))
    return len(lines)


def test_the_core_stays_small(capsys: pytest.CaptureFixture[str]) -> None:
    """Python of the core without blanks, comments and docstrings, as ruff formats it; the search
    engine has a budget of its own.
    """
    core = sum(map(code_lines, CORE.rglob("*.py")))
    search = sum(map(code_lines, SEARCH.rglob("*.py")))
    statements = sum(
        bool(line.strip()) and not line.lstrip().startswith("--")
        for path in (CORE / "sql").glob("*.sql")
        for line in path.read_text().splitlines()
    )
    with capsys.disabled():
        print(f"\ncore: {core:,} of {CORE_LINES:,} lines of Python, {statements} of SQL; ", end="")
        print(f"search: {search:,} of {SEARCH_LINES:,}")

    assert core < CORE_LINES
    assert search < SEARCH_LINES


def test_counting_lines_counts_code_alone(tmp_path: Path) -> None:
    source = '"""Doc\nstring."""\n\n# comment\n\ndef f():\n    """Doc."""\n    return """a\nb"""\n'
    (tmp_path / "x.py").write_text(source)

    assert code_lines(tmp_path / "x.py") == 3


@pytest.mark.parametrize("path", OURS, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_functions_fit_in_the_head(path: Path) -> None:
    source = path.read_text()
    functions = {
        node.name: (node.end_lineno or 0) - node.lineno + 1
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }

    assert len(source.splitlines()) <= FILE_LINES
    assert {name: size for name, size in functions.items() if size > FUNCTION_LINES} == {}


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


def group_of(module: str) -> int | None:
    for number, group in enumerate(GROUPS):
        if any(module == name or module.startswith((f"{name}.", f"{name}_")) for name in group):
            return number
    return None


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{name.name}" for name in node.names} | {node.module}
    return found


def test_every_module_has_its_group() -> None:
    packages = {"", "core", "custody", "doors", "ledger", "memories", "references"}
    packages |= {"integrations", "search", "seal", "tools"}
    modules = {module_of(path) for path in PACKAGE.rglob("*.py")} - packages

    assert {name for name in modules if name != "__init__" and group_of(name) is None} == set()


def test_a_module_imports_only_from_groups_before_its_own() -> None:
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        module = module_of(path)
        own = group_of(module)
        for name in imports(path):
            other = group_of(name.removeprefix("memoryd.")) if name.startswith("memoryd.") else None
            if own is not None and other is not None and other > own:
                wrong.append(f"{module} imports {name}")

    assert wrong == []


def test_pure_modules_touch_nothing_outside() -> None:
    wrong = {
        path.stem: found
        for path in PACKAGE.rglob("*.py")
        if (path.stem in PURE or path.parent.name == "redact")
        and (found := {name.split(".")[0] for name in imports(path)} & IMPURE)
    }

    assert wrong == {}


def test_sql_lives_in_sql_files() -> None:
    statement = re.compile(
        r"^\s*(select|insert into|update|delete from|create|drop|alter)\s", re.IGNORECASE
    )
    found = [
        f"{path.name}:{node.lineno}"
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and statement.match(node.value)
        and len(node.value.split()) > 3
        and " from " in f" {node.value.lower()} "
    ]

    assert found == []


def test_every_named_query_is_used_and_every_used_query_exists() -> None:
    source = "\n".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    used = set(re.findall(r'"(\w+\.\w+)"', source)) | {"read.newest", "read.oldest"}
    named = {f"{path.stem}.{name}" for path in SQL for name in db.queries(path.stem)}

    assert named - used == set()
    assert set(re.findall(r'db\.query\(\s*"(\w+\.\w+)"', source)) - named == set()


async def test_every_named_query_prepares_against_the_schema(daemon: Daemon) -> None:
    prepared = 0
    owner = await db.connect(daemon.target, None)
    await owner.execute("create temporary table chunks (like memoryd.chunks)")
    for path in SQL:
        for name, statement in db.queries(path.stem).items():
            if name in ("make_temporary", "make_roles_by_hand"):
                continue  # several statements: the tests of rebuild and migrate run them
            await owner.prepare(statement)
            prepared += 1
    await owner.close()

    assert prepared > 20


def test_only_the_write_path_inserts_into_the_log() -> None:
    writers = [path.name for path in SQL if re.search(r"insert into events\b", path.read_text())]
    callers = [
        path.name for path in PACKAGE.rglob("*.py") if '"record.add_event"' in path.read_text()
    ]

    assert writers == ["record.sql"]
    assert callers == ["record.py"]


def test_whatever_is_written_was_prepared_and_so_filtered() -> None:
    makers = [
        f"{path.name}:{node.name}"
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for inner in ast.walk(node)
        if isinstance(inner, ast.Call) and ast.unparse(inner.func).endswith("Write")
    ]

    assert makers == ["record.py:prepare"]


def test_every_view_is_rebuilt() -> None:
    made = re.findall(r"create table (\w+)", db.read_sql("views.sql"))

    assert set(made) == {*views.TABLES, *index.TABLES, *vectors.TABLES}


def test_ground_truth_is_never_dropped_with_the_views() -> None:
    made = re.findall(r"create table (\w+)", db.read_sql("log.sql"))
    kept = re.findall(r"'(\w+)'", db.query("migrate.drop_views").partition("array[")[2])

    assert set(kept) == set(made)


def test_migrations_are_numbered_without_gaps() -> None:
    assert sorted(migrate.migrations()) == list(range(1, migrate.latest() + 1))
