"""What `conversation.py` counted, as a figure: SVG by hand, readable on light and dark."""

import math
from collections.abc import Sequence

from scale_plot import BLUE, BOTTOM, HEIGHT, LEFT, RED, RIGHT, STYLE, TOP, WIDTH

LOW, HIGH = 100, 10_000_000  # tokens, the ends of the logarithmic axis
TICK = 50  # steps
CLEAR = 20  # steps: beyond them no line crosses that of the budget


def figure(budget: int, without: Sequence[int], with_memory: Sequence[int]) -> str:
    """Tokens that a model is given at each step."""
    title = "Tokens in the context, step by step; tool outputs of 1 to 50,000 tokens"
    steps = len(without)
    limit = _up(budget)
    across = f'x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{limit:.1f}" y2="{limit:.1f}"'
    parts = [
        f'<text class="title" x="{LEFT}" y="26">{title}</text>',
        *_grid(steps),
        f'<line class="aim" stroke="{BLUE}" {across}/>',
        f'<text x="{_across(CLEAR, steps):.1f}" y="{limit - 5:.1f}">budget: {budget:,}</text>',
        *_line("everything kept", RED, without),
        *_line("with memoryd", BLUE, with_memory),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        f' aria-label="{title}"><style>{STYLE}</style>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _line(name: str, colour: str, spent: Sequence[int]) -> list[str]:
    points = " ".join(
        f"{_across(at + 1, len(spent)):.1f},{_up(one):.1f}" for at, one in enumerate(spent)
    )
    place = f'x="{WIDTH - RIGHT + 12}" y="{_up(spent[-1]) + 4:.1f}"'
    return [
        f'<polyline class="line" stroke="{colour}" points="{points}"/>',
        f'<text {place} style="fill: {colour}">{name}: {spent[-1]:,}</text>',
    ]


def _grid(steps: int) -> list[str]:
    parts = []
    for power in range(round(math.log10(LOW)), round(math.log10(HIGH)) + 1):
        y = _up(10**power)
        parts += [
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>',
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_short(10**power)}</text>',
        ]
    for step in range(TICK, steps + 1, TICK):
        x = _across(step, steps)
        parts.append(
            f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{step}</text>'
        )
    middle = (LEFT + WIDTH - RIGHT) / 2
    return [*parts, f'<text x="{middle}" y="{HEIGHT - 10}" text-anchor="middle">step</text>']


def _short(value: int) -> str:
    """In the room that the margin has, whatever the font."""
    return f"{value // 10**6} M" if value >= 10**6 else f"{value:,}"


def _across(step: int, steps: int) -> float:
    return LEFT + (WIDTH - RIGHT - LEFT) * step / steps


def _up(value: float) -> float:
    share = math.log10(max(value, LOW) / LOW) / math.log10(HIGH / LOW)
    return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * share
