"""What `scale.py` measured, as a table and as figures: SVG by hand, readable on light and dark."""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import load

Scale = Callable[[float], float]

MEGABYTE = 1024 * 1024
AIMS = {"late": 40.0, "bits": 30.0}  # ms, p95 at a million chunks
GROWTH = 3.0  # p50 at the largest size over p50 at the smallest
COLD = 1_000.0  # ms, first search after a restart
LARGE = 1_000_000  # the size that the aims are for
WIDTH, HEIGHT = 760, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 230, 50, 50  # margins; on the right stand the names of the lines

STYLE = """
text { font: 13px system-ui, sans-serif; fill: #444 }
.title { font-size: 15px; font-weight: 600; fill: #222 }
.grid { stroke: #888; stroke-opacity: .4; stroke-width: 1 }
.aim { stroke-width: 1.5; stroke-dasharray: 2 4; opacity: .8 }
.line { fill: none; stroke-width: 2.2 }
.half { stroke-dasharray: 7 4 }
@media (prefers-color-scheme: dark) { text { fill: #bbb } .title { fill: #eee } }
"""
BLUE, ORANGE, GREEN, PURPLE, RED, GREY = (
    *("#3b82c4", "#d97a1f", "#3c9d5d", "#9065b8", "#cc4f5a", "#888888"),
)


@dataclass
class Result:
    """What one size gave; times in milliseconds, sizes in bytes."""

    chunks: int
    late: list[float] = field(default_factory=list)
    bits: list[float] = field(default_factory=list)
    health: list[float] = field(default_factory=list)
    processor: float = 0.0  # of the daemon, for one search with late interaction
    restarted: float = 0.0  # the first search after a restart, files still in the page cache
    cold: float = 0.0  # and without them
    resident: tuple[int, int] = (0, 0)  # of the daemon, before the first search and after the last
    tables: dict[str, int] = field(default_factory=dict)
    token_codes: int = 0  # as large as they were if no two chunks shared them
    overlap: float = 0.0
    load: float = 0.0  # of the machine while it was measured: others work on it too


@dataclass(frozen=True)
class Line:
    name: str
    colour: str
    points: Sequence[tuple[float, float]]
    dashed: bool = False


def report(results: Sequence[Result]) -> None:
    """The table, with the aims beside what they are for."""
    print(f"\n{'':<30}" + "".join(f"{result.chunks:>12,}" for result in results))
    for way, name in (("late", "with late interaction"), ("bits", "words and bits")):
        for share in (0.5, 0.95, 0.99):
            spent = [load.percentile(getattr(result, way), share) for result in results]
            aim = f"   aim {AIMS[way]:.0f} at a million" if share == 0.95 else ""
            _print(f"{name}, p{share * 100:.0f} ms", [f"{ms:.1f}" for ms in spent], aim)
    _print("daemon's processor time, ms", [f"{result.processor:.1f}" for result in results])
    base = [load.percentile(result.health, 0.5) for result in results]
    halves = [load.percentile(result.late, 0.5) for result in results]
    _print("GET /healthz, p50 ms", [f"{ms:.2f}" for ms in base])
    ratios = [f"{half / ms:.0f}x" for half, ms in zip(halves, base, strict=True)]
    _print("search / healthz, p50", ratios)
    _print(
        "growth of p50", [f"{half / halves[0]:.2f}x" for half in halves], f"   aim {GROWTH:.0f}x"
    )
    _print("first after restart, ms", [f"{result.restarted:.0f}" for result in results])
    _print("  and from disk, ms", [f"{one.cold:.0f}" for one in results], f"   aim {COLD:.0f}")
    _print(
        "overlap with brute force", [f"{result.overlap:.4f}" for result in results], "   aim .99"
    )
    for at, name in enumerate(("daemon at start, MB", "daemon after searches, MB")):
        _print(name, [f"{result.resident[at] / MEGABYTE:.0f}" for result in results])
    for table in _tables(results):
        _print(f"{table}, MB", [f"{one.tables[table] / MEGABYTE:.1f}" for one in results])
    totals = [sum(result.tables.values()) for result in results]
    _print("all tables, MB", [f"{total / MEGABYTE:.0f}" for total in totals])
    own = [f"{one.token_codes / MEGABYTE:.0f}" for one in results]
    _print("token codes unshared, MB", own, "   reckoned: the bench lets chunks share them")
    _print(
        "load average", [f"{result.load:.1f}" for result in results], f"   {os.cpu_count()} cores"
    )


def _print(name: str, values: Sequence[str], note: str = "") -> None:
    print(f"{name:<30}" + "".join(f"{value:>12}" for value in values) + note)


def _tables(results: Sequence[Result]) -> list[str]:
    """Those that take a megabyte, largest first."""
    last = results[-1].tables
    return [name for name in sorted(last, key=last.__getitem__)[::-1] if last[name] > MEGABYTE]


def draw(results: Sequence[Result], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "scale-latency.svg").write_text(latency(results))
    (folder / "scale-size.svg").write_text(size(results))


def latency(results: Sequence[Result]) -> str:
    lines = [
        Line(
            f"{name}, p{share * 100:.0f}",
            colour,
            [(one.chunks, load.percentile(getattr(one, way), share)) for one in results],
            dashed=share == 0.5,
        )
        for way, name, colour in (
            ("late", "late interaction", BLUE),
            ("bits", "words and bits", ORANGE),
        )
        for share in (0.95, 0.5)
    ]
    aims = [(AIMS["late"], BLUE), (AIMS["bits"], ORANGE)]
    busy = max(result.load for result in results)
    title = f"Search over HTTP, one client (ms); {os.cpu_count()} cores, load average {busy:.1f}"
    highest = max(y for line in lines for _, y in line.points)
    return figure(title, lines, (1, 100 if highest <= 100 else 1_000), aims)


def size(results: Sequence[Result]) -> str:
    """In megabytes: what the log takes, what each view takes, what the daemon keeps in memory."""
    shown = {
        "log": (("events",), GREY),
        "chunks": (("chunks",), BLUE),
        "postings": (("postings",), ORANGE),
        "segments and codes": (("segments", "code_segments", "names"), GREEN),
    }
    lines = [
        Line(
            name,
            colour,
            [(one.chunks, sum(one.tables[t] for t in tables) / MEGABYTE) for one in results],
        )
        for name, (tables, colour) in shown.items()
    ]
    own = [(one.chunks, one.token_codes / MEGABYTE) for one in results]
    lines.append(Line("token codes (reckoned)", PURPLE, own))
    resident = [(one.chunks, one.resident[1] / MEGABYTE) for one in results]
    lines.append(Line("the daemon's memory", RED, resident, dashed=True))
    return figure("Size of tables with their indexes, and of the daemon (MB)", lines, (1, 10_000))


def figure(
    title: str,
    lines: Sequence[Line],
    span: tuple[float, float],
    aims: Sequence[tuple[float, str]] = (),
) -> str:
    """Both axes are logarithmic. An aim is a dotted line across."""
    sizes = [x for x, _ in lines[0].points]
    across = _scale(sizes[0], sizes[-1], LEFT, WIDTH - RIGHT)
    up = _scale(*span, HEIGHT - BOTTOM, TOP)
    parts = [
        f'<text class="title" x="{LEFT}" y="26">{title}</text>',
        *_grid(sizes, across, span, up),
    ]
    for value, colour in aims:
        y = up(value)
        parts.append(
            f'<line class="aim" stroke="{colour}" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}"'
            f' y2="{y:.1f}"/><text x="{LEFT + 6}" y="{y - 5:.1f}">aim for p95: {value:.0f}</text>'
        )
    places = _apart([up(line.points[-1][1]) for line in lines])
    for line, place in zip(lines, places, strict=True):
        points = [(across(x), up(y)) for x, y in line.points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        half = " half" if line.dashed else ""
        parts.append(f'<polyline class="line{half}" stroke="{line.colour}" points="{path}"/>')
        parts += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{line.colour}"/>' for x, y in points
        ]
        parts.append(
            f'<text x="{WIDTH - RIGHT + 12}" y="{place + 4:.1f}" style="fill: {line.colour}">'
            f"{line.name}: {_short(line.points[-1][1])}</text>"
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        f' aria-label="{title}"><style>{STYLE}</style>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _grid(sizes: Sequence[float], across: Scale, span: tuple[float, float], up: Scale) -> list[str]:
    parts = []
    for tick in _ticks(*span):
        y = up(tick)
        parts += [
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>',
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{tick:,}</text>',
        ]
    for chunks in sizes:
        x = across(chunks)
        parts += [
            f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>',
            f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{chunks:,}</text>',
        ]
    middle = (LEFT + WIDTH - RIGHT) / 2
    label = "chunks, half of them in the tenant that is searched"
    return [*parts, f'<text x="{middle}" y="{HEIGHT - 10}" text-anchor="middle">{label}</text>']


def _ticks(low: float, high: float) -> list[int]:
    """Powers of ten; over two decades or less also twice and five times these."""
    steps = (1, 2, 5) if high / low <= 100 else (1,)
    powers = range(round(math.log10(low)), round(math.log10(high)) + 1)
    return [step * 10**power for power in powers for step in steps if step * 10**power <= high]


def _scale(low: float, high: float, start: float, end: float) -> Scale:
    """From `low` at `start` to `high` at `end`; where they are equal, everything is at `start`."""
    span = math.log10(high / low) or 1.0
    return lambda value: start + (end - start) * math.log10(value / low) / span


def _apart(places: Sequence[float], least: float = 17) -> list[float]:
    """The same places from the bottom up, moved so that no two labels overlap."""
    moved = dict.fromkeys(range(len(places)), 0.0)
    last = math.inf
    for at in sorted(moved, key=lambda at: -places[at]):
        last = moved[at] = min(places[at], last - least)
    return list(moved.values())


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"
