"""bench/bundle.py on a few thousand chunks: what it says, not how fast that was."""

import json
import socket

import pytest

import bundle
import bundle_fill
import bundle_table
import load


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> bundle_table.Sizes:
    """Little of everything, at a port of its own."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        monkeypatch.setattr(bundle, "PORT", free.getsockname()[1])
    monkeypatch.setattr(bundle, "WARM_UP", 1)
    for name, count in {"TURNS": 30, "DECISIONS": 12, "REPLACED": 3, "TASKS": 8, "DONE": 2}.items():
        monkeypatch.setattr(bundle_fill, name, count)
    return bundle_table.Sizes(chunks=3_000, rounds=2, agents=3, each=2, restarts=1, backlog=150)


async def test_the_bench_of_bundles_measures_every_path_beside_its_baselines(
    small: bundle_table.Sizes,
) -> None:
    async with load.home() as home:
        report = await bundle.run(home, small)
    shown = json.loads(json.dumps(bundle_table.summary(report)))

    assert shown["sizes"]["tenant_chunks"] == 1_500
    assert min(shown["items"].values()) > 0 and len(shown["items"]) == 7
    baselines = {"readyz", "search", "searches at once", "agents at once, at first"}
    assert shown["paused"].keys() == baselines | bundle_table.LINES.keys()
    assert shown["running"].keys() == shown["paused"].keys() - {"first after a restart"}
    for row in (*shown["paused"].values(), *shown["running"].values()):
        assert 0 < row["p50"] <= row["p95"] and row["x readyz"] > 0 and row["x search"] > 0
    assert len(report.paused["agents at once"]) == 6
    assert shown["timings_ms"]["fast path"].keys() == {"read", "pack"}
    assert shown["pending_vectors"][0] > 0
    lines = bundle_table.table(shown).splitlines()
    assert sum(line.startswith("fast path  ") for line in lines) == 2
    assert not home.exists()
