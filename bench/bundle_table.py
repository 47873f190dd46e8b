"""What `bundle.py` measured, for a program and for a person."""

from dataclasses import asdict, dataclass, field
from typing import Any

import load

MODES = ("paused", "running")  # of the embedder
LINES = {  # milliseconds, p95
    "fast path": 15.0,
    "retrieval, 65,000 tokens": 50.0,
    "retrieval, 8,000 tokens": 50.0,
    "agents at once": 350.0,
    "first after a restart": 1_000.0,
}


@dataclass(frozen=True)
class Sizes:
    chunks: int = 1_000_000
    rounds: int = 150
    agents: int = 16
    each: int = 20  # bundles of each agent
    restarts: int = 5
    backlog: int = 6_000  # events that the embedder has before it when it is measured


@dataclass
class Report:
    """Times in milliseconds, by what was asked; once with the embedder paused, once running."""

    sizes: Sizes
    machine: str
    items: dict[str, int] = field(default_factory=dict)  # of each section of a bundle
    tokens: int = 0
    paused: dict[str, list[float]] = field(default_factory=dict)
    running: dict[str, list[float]] = field(default_factory=dict)
    pending: tuple[int, int] = (0, 0)  # vectors, before and after `running`
    ready: list[float] = field(default_factory=list)  # from the start of a process to its readiness
    timings: dict[str, dict[str, float]] = field(default_factory=dict)  # what the daemon says of it
    processor: dict[str, float] = field(default_factory=dict)  # ms of one bundle of many at once


HEAD = f"{'p50 ms':>9}{'p95 ms':>9}{'line':>8}{'x readyz':>10}{'x search':>10}"


def summary(report: Report) -> dict[str, Any]:
    """What is printed: percentiles, beside their lines and as multiples of the baselines."""
    sizes = asdict(report.sizes) | {"tenant_chunks": report.sizes.chunks // 2}
    return {
        "machine": report.machine,
        "sizes": sizes,
        "items": report.items,
        "tokens": report.tokens,
        "paused": _beside(report.paused),
        "running": _beside(report.running),
        "pending_vectors": report.pending,
        "ready_ms": report.ready,
        "timings_ms": report.timings,
        "processor_ms": report.processor,
    }


def _beside(spent: dict[str, list[float]]) -> dict[str, dict[str, float | None]]:
    p50 = {name: load.percentile(values, 0.5) for name, values in spent.items()}
    return {
        name: {
            "p50": p50[name],
            "p95": load.percentile(values, 0.95),
            "line": LINES.get(name),
            "x readyz": p50[name] / p50["readyz"],
            "x search": p50[name] / p50["searches at once" if "agents" in name else "search"],
        }
        for name, values in spent.items()
    }


def table(shown: dict[str, Any]) -> str:
    sizes = shown["sizes"]
    items = ", ".join(f"{name} {count}" for name, count in shown["items"].items())
    lines = [
        f"{sizes['chunks']:,} chunks, {sizes['tenant_chunks']:,} in the tenant; {shown['machine']}",
        f"a bundle: {shown['tokens']:,} tokens; items: {items}",
    ]
    for mode in MODES:
        first, last = shown["pending_vectors"]
        left = f", {first:,} to {last:,} vectors to go" if mode == "running" else ""
        head = f"embedder {mode}{left}"
        lines += ["", f"{head:<48}{HEAD}"]
        lines += [_row(name, row) for name, row in shown[mode].items()]
    lines += ["", "ready after a start: " + ", ".join(f"{one:,.0f}" for one in shown["ready_ms"])]
    lines += [_steps(name, one) for name, one in shown["timings_ms"].items()]
    return "\n".join([*lines, _steps("agents at once, processor", shown["processor_ms"])])


def _row(name: str, row: dict[str, Any]) -> str:
    line = f"{row['line']:,.0f}" if row["line"] else ""
    missed = "  missed" if row["line"] and row["p95"] > row["line"] else ""
    times = f"{row['p50']:>9.1f}{row['p95']:>9.1f}{line:>8}"
    return f"{name:<48}{times}{row['x readyz']:>10.1f}{row['x search']:>10.2f}{missed}"


def _steps(name: str, said: dict[str, float]) -> str:
    return f"{name}: " + ", ".join(f"{step} {value:.1f} ms" for step, value in said.items())
