"""How good a ranking is: the measures of one question, and their means as a table.

Pure: counts and times come in as arguments.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

BUDGETS = (1_000, 2_000, 4_000)  # tokens


@dataclass(frozen=True)
class Line:
    """A result as a model would read it: one line, under a header that its session has once."""

    turn_id: str
    session: str
    tokens: int
    header_tokens: int


@dataclass(frozen=True)
class Measured:
    category: str
    milliseconds: float
    measures: dict[str, float]
    tokens: int | None = None  # of a bundle


@dataclass(frozen=True)
class Report:
    """Means over questions, all and by category, and what an answer took."""

    questions: int
    means: dict[str, float]
    standard_errors: dict[str, float]
    categories: dict[str, dict[str, float]]
    mean_ms: float
    p50_ms: float
    p95_ms: float
    tokens: dict[str, float] | None = None


def measures(gold: frozenset[str], lines: Sequence[Line]) -> dict[str, float]:
    """What share of `gold` is near the top and within budgets; a turn counts once, at its best.

    >>> lines = [Line("a", "s", 600, 10), Line("a", "s", 600, 10), Line("b", "s", 600, 10)]
    >>> found = measures(frozenset("b"), lines)
    >>> found["share@5"], found["within 1,000"], found["within 2,000"]
    (1.0, 0.0, 1.0)
    """
    ranked = list(dict.fromkeys(line.turn_id for line in lines))
    return {
        "share@5": _share(gold, ranked[:5]),
        "share@10": _share(gold, ranked[:10]),
        "NDCG@10": _ndcg(gold, ranked[:10]),
        "any@10": float(not gold.isdisjoint(ranked[:10])),
        **{f"within {budget:,}": _share(gold, _within(lines, budget)) for budget in BUDGETS},
    }


def report(found: Sequence[Measured]) -> Report:
    """The means of at least one question."""
    times = sorted(one.milliseconds for one in found)
    used = sorted(one.tokens for one in found if one.tokens is not None)
    groups = {one.category: [] for one in found}  # type: dict[str, list[Measured]]
    for one in found:
        groups[one.category].append(one)
    return Report(
        questions=len(found),
        means=_means(found),
        standard_errors=_standard_errors(found),
        categories={
            name: {"questions": len(group), **_means(group)}
            for name, group in sorted(groups.items())
        },
        mean_ms=sum(times) / len(times),
        p50_ms=_percentile(times, 50),
        p95_ms=_percentile(times, 95),
        tokens={
            "mean": sum(used) / len(used),
            "p50": _percentile(used, 50),
            "p95": _percentile(used, 95),
        }
        if used
        else None,
    )


def table(shown: Report) -> str:
    """The report for a person."""
    names = list(shown.means)
    error = [f"{shown.standard_errors[name]:.3f}" for name in names]
    rows = [["", "questions", *names]]
    rows += [
        [label, f"{count:,.0f}", *(f"{means[name]:.3f}" for name in names)]
        for label, count, means in [
            *((name, means["questions"], means) for name, means in shown.categories.items()),
            ("all", shown.questions, shown.means),
        ]
    ]
    rows.append(["standard error", "", *error])
    first = max(len(row[0]) for row in rows)
    widths = [max(len(cell), 5) for cell in rows[0][1:]]
    lines = [
        "  ".join(
            [
                row[0].ljust(first),
                *(cell.rjust(wide) for cell, wide in zip(row[1:], widths, strict=True)),
            ]
        )
        for row in rows
    ]
    said = f"mean {shown.mean_ms:.1f} ms, p50 {shown.p50_ms:.1f} ms, p95 {shown.p95_ms:.1f} ms"
    if shown.tokens is None:
        return "\n".join([*lines, "", f"search {said}"])
    used = ", ".join(f"{name} {count:,.0f}" for name, count in shown.tokens.items())
    return "\n".join([*lines, "", f"tokens {used}", f"bundle {said}"])


def _share(gold: frozenset[str], ranked: Sequence[str]) -> float:
    return len(gold.intersection(ranked)) / len(gold)


def _ndcg(gold: frozenset[str], ranked: Sequence[str]) -> float:
    gains = [1 / math.log2(place + 2) for place in range(10)]
    gained = sum(gain for gain, turn in zip(gains, ranked, strict=False) if turn in gold)
    return gained / sum(gains[: len(gold)])


def _within(lines: Sequence[Line], budget: int) -> list[str]:
    """The turns of the ranking, cut where its tokens exceed `budget`."""
    used = 0
    headed: set[str] = set()
    kept: list[str] = []
    for line in lines:
        used += line.tokens + (0 if line.session in headed else line.header_tokens)
        if used > budget:
            break
        headed.add(line.session)
        kept.append(line.turn_id)
    return kept


def _means(found: Sequence[Measured]) -> dict[str, float]:
    return {
        name: sum(one.measures[name] for one in found) / len(found) for name in found[0].measures
    }


def _standard_errors(found: Sequence[Measured]) -> dict[str, float]:
    """Of the means, as if questions were drawn at random; 0 for a single one."""
    means, count = _means(found), len(found)
    squares = {
        name: sum((one.measures[name] - mean) ** 2 for one in found) for name, mean in means.items()
    }
    return {name: math.sqrt(total / max(count - 1, 1) / count) for name, total in squares.items()}


def _percentile(ordered: Sequence[float], percent: int) -> float:
    """The value that `percent` of the values do not exceed."""
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]
