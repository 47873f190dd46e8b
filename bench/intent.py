"""How often the rules say rightly what an instruction needs: skip, search or expand, which keys.

`python bench/intent.py`: on `intent.jsonl`, half of which is held apart by a hash of its text and
was never looked at while the rules were made. `--errors` shows those of the other half.
"""

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from memoryd.references.intent import Action, Context, Decision, needs_memory

ITEMS = Path(__file__).parent / "intent.jsonl"
LABELS: tuple[Action, ...] = ("skip", "search", "expand")
Item = dict[str, Any]
Judge = Callable[[str, Context], Decision]


def items() -> list[Item]:
    return [json.loads(line) for line in ITEMS.read_text().splitlines()]


def apart(item: Item) -> bool:
    """Whether it is held apart: a coin that falls the same way every time."""
    said = json.dumps([item["instruction"], item["context"]]).encode()
    return hashlib.sha256(said).digest()[0] % 2 == 1


def judged(item: Item, judge: Judge) -> Decision:
    return judge(item["instruction"], Context(messages=item["context"], issued=item["issued"]))


def right(item: Item, found: Decision) -> bool:
    return bool(found.action == item["label"] and list(found.keys) == item["keys"])


def always_search(instruction: str, _: Context) -> Decision:
    """The baseline: what a system without intent does."""
    return Decision(action="search", reason="always", query=instruction)


def accuracy(some: Sequence[Item], judge: Judge) -> float:
    return sum(right(item, judged(item, judge)) for item in some) / len(some)


def confusion(some: Sequence[Item]) -> list[str]:
    counted = Counter((item["label"], judged(item, needs_memory).action) for item in some)
    head = f"  {'label':<8}" + "".join(f"{name:>8}" for name in LABELS)
    rows = [
        f"  {label:<8}" + "".join(f"{counted[label, found]:>8}" for found in LABELS)
        for label in LABELS
    ]
    return [head, *rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--errors", action="store_true")
    given = parser.parse_args()
    every = items()
    halves = {
        "seen while tuning": [item for item in every if not apart(item)],
        "held apart": [item for item in every if apart(item)],
    }
    for name, half in halves.items():
        rules, baseline = accuracy(half, needs_memory), accuracy(half, always_search)
        print(f"{name}: {len(half)} instructions, rules {rules:.3f}, always search {baseline:.3f}")
        print("\n".join(confusion(half)))
    for item in halves["seen while tuning"] if given.errors else ():
        found = judged(item, needs_memory)
        if not right(item, found):
            said = f"{item['label']} {item['keys']} != {found.action} {list(found.keys)}"
            print(f"{said}: {item['instruction']!r} {item['context']} ({found.reason})")


if __name__ == "__main__":
    main()
