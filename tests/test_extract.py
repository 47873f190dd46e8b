"""A summary without a model: deterministic, within its tokens, cited, through the reader's eyes."""

import json
import random
import subprocess
import sys
from typing import Any

import httpx
from hypothesis import given
from hypothesis import strategies as st

from conftest import MakeKey, asking
from memoryd.core import tokens
from memoryd.daemon import Daemon
from memoryd.ledger import extract
from wire import SUMMARIES, assert_problem, plan, post, storing_nothing

S1 = {"session_id": "s1"}
TALK = """
We ship the parrot release on Friday. Lunch was good.
The parrot release needs the billing fix first.
ok
The billing fix for the parrot release is in review.
I like the weather today, so warm.
The parrot release needs the billing fix first!
""".strip().split("\n")


def passage(position: int, text: str, **given: Any) -> extract.Passage:
    said = {"cites": (f"evt_{position}",), "ordinal": 0, "rank": 2, "label": "ada: "}
    values: dict[str, Any] = {**said, "sensitivity": "none", **given}
    return extract.Passage(position=position, text=text, **values)


TALKED = [passage(position, text) for position, text in enumerate(TALK)]


async def ask(client: httpx.AsyncClient, **given: Any) -> dict[str, Any]:
    answer = await client.post(f"{SUMMARIES}/extract", json={"session_id": "s1", **given})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_the_central_sentences_come_in_their_order() -> None:
    text, cites = extract.summarize(TALKED, 40)

    assert text.splitlines() == [
        "ada: We ship the parrot release on Friday.",
        "ada: The parrot release needs the billing fix first.",
        "ada: The billing fix for the parrot release is in review.",
    ]
    assert cites == ["evt_0", "evt_1", "evt_3"]


def test_nothing_is_said_twice_and_single_words_say_nothing() -> None:
    text, cites = extract.summarize(TALKED, 10_000)

    assert text.count("needs the billing fix first") == 1
    assert "evt_2" not in cites and "evt_5" not in cites


def test_decisions_and_tasks_come_before_talk() -> None:
    said = [passage(n, f"Parrot release note number {n} {n + 7}.") for n in range(20)]
    decided = passage(50, "Freeze.", rank=0, label="Decision: ")
    task = passage(60, "Proofread the manual.", rank=1, label="Task (open): ")
    first = "Decision: Freeze.\nTask (open): Proofread the manual."
    text, _ = extract.summarize([*said, task, decided], tokens.count(first) + 2)

    assert text == first


def test_the_order_of_the_passages_does_not_matter() -> None:
    shuffled = random.Random(1).sample(TALKED, len(TALKED))

    assert extract.summarize(shuffled, 60) == extract.summarize(TALKED, 60)


def test_another_process_finds_the_same() -> None:
    """Sets of strings have another order in each."""
    program = (
        "import json, sys; sys.path[:0] = json.loads(sys.argv[1])\n"
        "import test_extract as t; from memoryd.ledger import extract\n"
        "print(json.dumps(extract.summarize(t.TALKED, 60)))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program, json.dumps(sys.path)],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout
        for seed in ("1", "2")
    }

    assert [json.loads(one) for one in found] == [[*extract.summarize(TALKED, 60)]]


TEXTS = st.text(st.sampled_from("aé 漢。.!?\n\t/<|>Zz0"), max_size=120) | st.text(max_size=60)


@given(
    st.lists(st.tuples(TEXTS, st.text(max_size=8), st.integers(0, 2)), max_size=8),
    st.integers(1, 120),
)
def test_it_is_never_longer_than_asked(said: list[tuple[str, str, int]], room: int) -> None:
    passages = [
        passage(number, text, label=label, rank=rank)
        for number, (text, label, rank) in enumerate(said)
    ]
    text, cites = extract.summarize(passages, room)

    assert tokens.count(text) <= room
    assert bool(text) == bool(cites)
    assert set(cites) <= {cited for one in passages for cited in one.cites}


def test_it_cites_no_more_events_than_a_summary_may() -> None:
    titles = ("Paint the boat.", "Feed the parrot.", "Fix the billing.")
    tasks = [
        passage(n, title, rank=1, cites=tuple(f"evt_{n}_{version}" for version in range(100)))
        for n, title in enumerate(titles)
    ]
    text, cites = extract.summarize([*tasks, passage(9, "The weather is warm.")], 500)

    assert text.splitlines() == [f"ada: {line}" for line in (*titles[:2], "The weather is warm.")]
    assert len(cites) == 201


def test_a_text_without_sentences_is_cut_between_words() -> None:
    text, _ = extract.summarize([passage(1, "parrot release " * 2_000)], 500)

    assert 0 < len(text) <= extract.LONGEST + len("ada: ")


async def test_a_session_is_summed_up_from_what_holds(client: httpx.AsyncClient) -> None:
    old = await post(client, kind="decision", content={"decision": "Use MySQL for billing."})
    supersedes = old["event_id"].replace("evt_", "dec_")
    new = await post(
        client,
        kind="decision",
        content={"decision": "Use PostgreSQL for billing.", "supersedes": supersedes},
    )
    task = await post(client, kind="task_update", content={"title": "Migrate the billing data"})
    task_id = task["event_id"].replace("evt_", "tsk_")
    moved = await post(client, kind="task_update", content={"task_id": task_id, "status": "doing"})
    message = await post(client, content={"text": "The migration waits for the new disks."})
    await post(client, content={"text": "Elsewhere they talk of cats."}, session_id="s2")
    found = await ask(client)

    assert found["text"].splitlines() == [
        "Decision: Use PostgreSQL for billing.",
        "Task (doing): Migrate the billing data",
        "ada: The migration waits for the new disks.",
    ]
    assert found["cites"] == [one["event_id"] for one in (new, task, moved, message)]
    assert found["tokens"] == tokens.count(found["text"])


async def test_it_stores_nothing_and_says_the_same_again(
    client: httpx.AsyncClient, daemon: Daemon, tenant: str
) -> None:
    for text in TALK:
        await post(client, content={"text": text})
    async with storing_nothing(daemon, tenant):
        first = await ask(client, max_tokens=50)
        again = await ask(client, max_tokens=50)

    assert again == first
    assert 0 < first["tokens"] <= 50


async def kept(client: httpx.AsyncClient, found: dict[str, Any], **given: Any) -> str:
    """The id of the summary that is stored of what was extracted."""
    said = {name: found[name] for name in ("text", "cites", "sensitivity")}
    stored = await client.post(SUMMARIES, json={"session_id": "s1", **said, **given})
    assert stored.status_code == 201, stored.text
    return str(stored.json()["summary_id"])


async def test_erasing_who_gave_a_task_its_title_erases_the_summary_that_has_it(
    client: httpx.AsyncClient, url: str, tenant: str, make_key: MakeKey
) -> None:
    task = await plan(client, title="Paint the zanzibar", channel="agent", user_id="ada", **S1)
    changed = {"task_id": task["task_id"], "status": "doing"}
    await plan(client, **changed, channel="agent", user_id="bob", **S1)
    found = await ask(client, channel="agent", user_id="bob")
    summary_id = await kept(client, found, channel="agent", user_id="bob")
    async with asking(url, await make_key(tenant, role="admin")) as admin:
        await admin.post("/api/v1/erasures", json={"user_id": "ada", "sweep": False})
    left = await client.get(f"{SUMMARIES}/{summary_id}", params={"channel": "agent"})

    assert task["event_id"] in found["cites"] and "zanzibar" in found["text"]
    assert left.status_code == 404


async def test_a_summary_of_a_task_is_stale_once_that_moves_on_and_not_before(
    client: httpx.AsyncClient,
) -> None:
    task = await plan(client, title="Paint the zanzibar", **S1)
    await plan(client, task_id=task["task_id"], status="doing")
    summary_id = await kept(client, await ask(client))
    of_it = await kept(client, {**await ask(client), "cites": [f"evt_{summary_id[4:]}"]})
    at_birth = await stale(client, summary_id, of_it)
    await plan(client, task_id=task["task_id"], status="done")

    assert at_birth == [False, False, []]
    assert await stale(client, summary_id, of_it) == [True, True, ["stale_summary"]]


async def stale(client: httpx.AsyncClient, *summary_ids: str) -> list[Any]:
    """Whether each is, and whether a bundle leaves out any."""
    asked = {"session_id": "s2", "query_text": "zanzibar", "sections": ["retrieved_evidence"]}
    bundle = (await client.post("/api/v1/acb/build", json=asked)).json()
    reasons = {one["reason"] for one in bundle["omissions"]} & {"stale_summary"}
    found = [(await client.get(f"{SUMMARIES}/{one}")).json()["stale"] for one in summary_ids]
    return [*found, [*reasons]]


async def test_what_it_finds_can_be_stored(client: httpx.AsyncClient) -> None:
    for number, text in enumerate(TALK):
        await post(client, content={"text": text}, sensitivity=["high", "low", "none"][number % 3])
    found = await ask(client)
    said = {name: found[name] for name in ("text", "cites")}
    refused = await client.post(SUMMARIES, json={"session_id": "s1", **said})

    assert found["sensitivity"] == "high"
    assert await kept(client, found)
    assert_problem(refused, 422, refused.json()["field"])
    assert refused.json()["field"].startswith("cites.")


async def test_it_tells_only_what_the_reader_may_see(client: httpx.AsyncClient) -> None:
    secret = {"text": "The parrot hides in the cellar."}
    await post(client, content=secret, user_id="ada")
    await post(client, content={"text": "The parrot eats nuts."}, channel="team")
    await post(client, content={"text": "The parrot is green."}, channel="public")
    await post(client, kind="decision", content={"decision": "Hide the parrot."}, user_id="ada")
    seen = {
        "ada": await ask(client, user_id="ada"),
        "bob": await ask(client, user_id="bob"),
        "public": await ask(client, user_id="ada", channel="public"),
    }

    assert [len(found["cites"]) for found in seen.values()] == [4, 2, 1]
    assert "cellar" in seen["ada"]["text"]
    assert seen["public"]["text"] == "ada: The parrot is green."


async def test_a_session_that_is_not_there_says_nothing(client: httpx.AsyncClient) -> None:
    assert await ask(client, session_id="nobody's") == {
        "text": "",
        "cites": [],
        "tokens": 0,
        "sensitivity": "none",
    }


async def test_a_summary_is_not_summed_up_again(client: httpx.AsyncClient) -> None:
    source = await post(client, content={"text": "The parrot eats nuts."})
    made = {"session_id": "s1", "text": "A parrot was fed well.", "cites": [source["event_id"]]}
    await client.post(SUMMARIES, json=made)

    assert (await ask(client))["cites"] == [source["event_id"]]


async def test_absurd_sizes_are_refused(client: httpx.AsyncClient) -> None:
    for size in (0, -1, 10_001, 2**70, 1.5, "500"):
        answer = await client.post(
            f"{SUMMARIES}/extract", json={"session_id": "s1", "max_tokens": size}
        )
        assert_problem(answer, 422, "max_tokens")
