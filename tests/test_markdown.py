"""Things become files and come back the same, and what is no such file is refused by its line."""

import time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memoryd.custody import markdown, markdown_things
from memoryd.custody.markdown_head import Broken
from memoryd.custody.markdown_things import Decision, Memory, Task, Thing, View

ULID = "01M7JG0000000000000000000A"
TS = "2026-11-16T15:47:33.324474Z"

NASTY = [
    *[
        "---",
        "---\n",
        "\n---\na: b\n---\n",
        "a\r\nb\r\n",
        "a\r\nb\n",
        "a\r\r\n",
        "\r",
        "\n",
        "\n\n",
    ],
    *["  ", "a  \n b\t\n", "\ufeffa", "a\u2028b\x85c", "\x1b[2J", "## Rationale", "\\## rationale"],
    *[
        "\n## Rationale\n\n- x\n",
        "- a",
        "-",
        "- ",
        "* a\n\n\n  b\n\n",
        "~",
        "null",
        "",
        "no",
        "'a'",
    ],
    *['"a', "a: b", "a #b", "&a", "*a", "!a", "[a", "{a", "|", ">", "%a", "@a", "`a`", "?", "#"],
    *["Größe ✓", "日本語", "😀", "\U0010ffff", "\ufffe", "\x7f", "\xa0", "e\u0301"],
    *["## Con\u017ftraints", "123", "2026-01-01", "...", "a\n...\n---\nb", "```\n---\n```\n"],
]
letters = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
texts = st.one_of(
    st.sampled_from(NASTY),
    st.lists(st.sampled_from([*NASTY, "\n", "\r\n", " "]), max_size=6).map("".join),
    st.text(letters, max_size=60),
)
lines = texts.map(lambda text: "".join(one for one in text if one >= " " and one != "\x7f")[:255])
names = lines.filter(bool)
filled = texts.filter(lambda text: text.strip())
lists = st.lists(texts, max_size=4).map(tuple)
channels = st.sampled_from(["private", "public", "team", "agent"])

views = st.builds(
    View,
    name=st.one_of(st.just("rules.project"), names.map(lambda name: f"identity.{name}"[:255])),
    version=st.sampled_from([None, f"evt_{ULID}"]),
    ts=st.sampled_from([None, TS]),
    channel=channels,
    text=texts,
)
decisions = st.builds(
    Decision,
    id=st.sampled_from([None, f"dec_{ULID}"]),
    status=st.sampled_from([None, "active", "superseded"]),
    scope=st.sampled_from(["project", "user", "global"]),
    subject=st.one_of(st.none(), names),
    channel=channels,
    sensitivity=st.sampled_from([None, "low", "high"]),
    refs=st.lists(names, max_size=3).map(tuple),
    decision=filled,
    rationale=lists,
    constraints=lists,
    alternatives=lists,
    consequences=lists,
)
tasks = st.builds(
    Task,
    id=st.sampled_from([None, f"tsk_{ULID}"]),
    version=st.sampled_from([None, f"evt_{ULID}"]),
    status=st.sampled_from(["open", "doing", "done"]),
    title=filled,
    channel=channels,
    details=texts,
)
memories = st.builds(
    Memory,
    id=st.sampled_from([None, "a1B2c3D4"]),
    version=st.sampled_from([None, "1", "12"]),
    ts=st.sampled_from([None, TS]),
    type=st.sampled_from(["fact", "place", "core", "journal", "whiteboard"]),
    category=st.sampled_from([None, "person"]),
    subject=st.one_of(st.none(), filled),
    place_id=st.one_of(st.none(), filled),
    content=texts,
)


def read(kind: type[Any], text: str) -> Any:
    return markdown.parse(kind, markdown.decode(text.encode(), "a.md"), "a.md")


@settings(max_examples=600, deadline=None)
@given(st.one_of(views, decisions, tasks, memories))
@example(View(name="rules.org", text="a\r\n"))
@example(Decision(decision="a\n", rationale=("a\n\n", "\n", "", "\n\nb\n\nc")))
def test_what_is_written_is_read_back(thing: Thing) -> None:
    written = markdown.write(thing)

    assert read(type(thing), written) == thing
    assert markdown.write(read(type(thing), written)) == written


@settings(max_examples=300, deadline=None)
@given(st.one_of(views, decisions, tasks, memories))
def test_an_editor_that_ends_lines_its_own_way_changes_nothing(thing: Thing) -> None:
    written = markdown.write(thing)
    if "\r" in written.partition("\n---\n")[2]:
        return  # a text with line ends of both sorts, which no such editor keeps
    found = read(type(thing), "\ufeff" + written.replace("\n", "\r\n"))

    assert found == thing


@settings(max_examples=300, deadline=None)
@given(decisions | tasks | memories)
def test_an_editor_that_trims_lines_and_ends_edits_nothing(
    thing: Decision | Task | Memory,
) -> None:
    head, fence, body = markdown.write(thing).partition("\n---\n")
    if any(line != line.rstrip() for text in said(thing) for line in text.split("\n")):
        return  # trimming would change the text itself
    trimmed = "\n".join(line.rstrip() for line in body.split("\n")).strip("\n")
    found = read(type(thing), head + fence + trimmed + "\n")

    assert markdown_things.edits(thing, found) == {}
    assert markdown_things.fixed(thing, found) is None


def said(thing: Thing) -> list[str]:
    values = [getattr(thing, name) for name in markdown_things.EDITABLE[type(thing)]]
    return [text for value in values if value for text in markdown_things.texts(value)]


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200), st.sampled_from([View, Decision, Task, Memory]))
@example("---\na: &x [b]\nc: *x\n---\n", Task)
def test_any_text_is_a_thing_or_refused_by_its_line(text: str, kind: type[Any]) -> None:
    for given_text in (text, f"---\n{text}\n---\n", f"---\nchannel: public\n---\n{text}"):
        raw = given_text.encode(errors="surrogatepass")
        refused = refusal(kind, raw)
        if refused:
            assert refused.detail.startswith(f"a.md:{refused.line}: ")
            assert 1 <= refused.line <= raw.count(b"\n") + 3


def refusal(kind: type[Any], raw: bytes) -> Broken | None:
    try:
        markdown.parse(kind, markdown.decode(raw, "a.md"), "a.md")
    except Broken as error:
        return error
    return None


def test_a_view_is_its_front_matter_and_its_text() -> None:
    view = View(
        name="rules.project", version=f"evt_{ULID}", ts=TS, channel="public", text="# Rules\n"
    )

    assert markdown.write(view) == (
        f"---\nname: rules.project\nversion: evt_{ULID}\nts: {TS}\nchannel: public\n---\n# Rules\n"
    )


def test_a_decision_is_a_page_with_sections() -> None:
    decision = Decision(
        id=f"dec_{ULID}",
        subject="database",
        decision="Keep the log in PostgreSQL.",
        rationale=("one store", "one backup,\none restore"),
        alternatives=("SQLite",),
    )

    assert markdown.write(decision) == (
        f"---\nid: dec_{ULID}\nsubject: database\n---\nKeep the log in PostgreSQL.\n"
        "\n## Rationale\n\n- one store\n- one backup,\n  one restore\n"
        "\n## Alternatives\n\n- SQLite\n"
    )


def test_what_a_person_writes_by_hand_is_understood() -> None:
    text = (
        "---\n# mine\ntitle: 'Buy: tea'\nstatus: \n---\n\n\nGreen.\n\n",
        "---\n---\nUse tabs.\n## rationale\n* one\n\n\n* two\n\n    deeper\n\tmore\n## Notes\n",
    )
    task = markdown_things.trimmed(read(Task, text[0]))
    decision = read(Decision, text[1].removesuffix("## Notes\n"))

    assert task == Task(title="Buy: tea", details="Green.")
    assert decision == Decision(decision="Use tabs.", rationale=("one", "two\n\n  deeper\nmore"))
    with pytest.raises(Broken, match=r"a\.md:12: rationale: begin .*`## Constraints`"):
        read(Decision, text[1])


BOMB = "---\na: &a [x,x]\n" + "".join(f"{n}: &{n} [*a,*a]\n" for n in "bcdefgh") + "---\n"


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        (Task, "Ship it\n", "a.md:1: it has no front matter"),
        (Task, "", "a.md:1: it has no front matter"),
        (Task, "---\ntitle: x\n", "a.md:3: the front matter does not end"),
        (Task, "---\ntitel: x\n---\n", "a.md:2: titel: there is no such field; there are id,"),
        (Task, "---\ntitle: x\nstatus: dne\n---\n", "a.md:3: status: 'dne' is none of open, doing"),
        (Task, "---\ntitle: x\ntitle: y\n---\n", "a.md:3: title: it is there twice"),
        (Task, "---\ntitle: [x]\n---\n", "a.md:2: title: it is one value, not a list"),
        (Task, "---\ntitle:\n  a: b\n---\n", "a.md:3: title: it is one value, or a list"),
        (Task, "---\ntitle: a: b\n---\n", "a.md:2: the front matter is no YAML: mapping values"),
        (Task, "---\ntitle: 'a\n---\n", "a.md:2: the front matter is no YAML: found unexpected"),
        (Task, "---\ntitle: ' '\n---\n", "a.md:2: title: it is empty"),
        (Task, "---\n- a\n---\n", "a.md:2: write each field on a line"),
        (Task, "---\n? [a]\n: b\n---\n", "a.md:2: a name is one word"),
        (Task, "---\ntitle: a\n...\nb: c\n---\n", "a.md:4: the front matter is no YAML: expected"),
        (Task, "---\ntitle: a\n--- b\n---\n", "a.md:3: a second document"),
        (Task, "---\nid: dec_1\n---\n", "a.md:2: id: 'dec_1' is no id, as tsk_"),
        (Task, "---\nid: ../../x\n---\n", "a.md:2: id: '../../x' is no id"),
        (Task, "---\nid: tsk_01M7JG0000000000000000000a\n---\n", "a.md:2: id: "),
        (Task, "---\ntitle: a\nends: without newline\n---\n", "a.md:3: ends: there is no such"),
        (Task, "---\ntitle: !!python/object:os.system x\n---\n", "a.md:2: tags"),
        (Task, "---\ntitle: a\x1b\n---\n", "a.md:2: the character U+001B"),
        (Task, "---\ntitle: a\n---\nb\n\0", "a.md:5: a NUL character"),
        (Task, BOMB, "a.md:2: anchors and aliases"),
        (Task, f"---\ntitle: {'[' * 50_000}\n---\n", "a.md:2: title: a list has only values"),
        (Task, "---\n" + "".join(f"a{n}: b\n" for n in range(99)) + "---\n", "a.md:34: a32: these"),
        (Decision, f"---\nrefs: [{'a,' * 300}]\n---\n", "a.md:2: refs: a list has at most 256"),
        (Decision, "---\nrefs: a\n---\n", "a.md:2: refs: it is a list"),
        (Decision, '---\nsubject: "a\\nb"\n---\n', "a.md:2: subject: 'a\\nb' is no line of 1"),
        (Decision, "---\n---\nx\n## Rationale\nbare\n", "a.md:5: rationale: begin what it lists"),
        (Decision, "---\n---\nx\n## Rationale\n## rationale\n", "a.md:5: rationale: it is there"),
        (View, "---\nname: rules.all\n---\n", "a.md:2: name: 'rules.all' is no view: there are"),
        (View, "---\nname: rules.org\nnewlines: mac\n---\n", "a.md:3: newlines: there is no such"),
    ],
)
def test_a_broken_file_is_refused_by_its_line_and_field(
    kind: type[Any], text: str, said: str
) -> None:
    with pytest.raises(Broken) as refused:
        read(kind, text)

    assert refused.value.detail.startswith(said)


def test_bytes_that_are_no_text_are_refused_by_their_line() -> None:
    with pytest.raises(Broken, match=r"a\.md:3: it is not UTF-8"):
        markdown.decode(b"---\n---\n\xff", "a.md")


def test_the_largest_file_is_read_in_time() -> None:
    title = "x" * (markdown.MAX_BYTES // 2)
    started = time.process_time()
    read(Task, f'---\ntitle: "{title}"\n---\n{title}')

    assert time.process_time() - started < 20


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(views, decisions, tasks), max_size=5))
def test_a_files_name_is_safe_on_every_system(things: list[Thing]) -> None:
    for path in map(markdown_things.path_of, things):
        folder, name = path.split("/")
        assert folder in markdown_things.KINDS
        assert set(name) <= {*"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"}
        assert name.endswith(".md") and name[0] not in ".-" and len(name) <= 120
