"""The bench behind `bench/secrets.py`: recall, false positives, cost."""

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import secret_lines
from memoryd import redact
from memoryd.redact import rules
from secret_lines import Line

MESSAGE = 4096  # characters
RECALL = 0.95  # aims
FALSE_POSITIVES = 0.01
MILLISECONDS = 1.0
ROUNDS = 9


@dataclass
class Result:
    """What the filter did with one set of lines."""

    name: str
    secrets: int = 0
    found: int = 0
    clean: int = 0
    false: int = 0
    by_rule: dict[str, list[int]] = field(default_factory=dict)  # lines with its secret, found
    false_by_rule: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


def run(name: str, lines: list[Line]) -> Result:
    """A secret is found when its characters are gone, all of them; a clean line must not change."""
    result, accused = Result(name), Counter[str]()
    for line in lines:
        clean = redact.text(line.text)
        if line.has_secret:
            good = clean != line.text and not any(secret in clean for secret in line.secrets)
            result.secrets += 1
            result.found += good
            counts = result.by_rule.setdefault(line.rule, [0, 0])
            counts[0] += 1
            counts[1] += good
        else:
            good = clean == line.text
            result.clean += 1
            result.false += not good
            accused.update(finding.rule for finding in redact.found(line.text))
        if not good:
            result.wrong.append(line.text)
    result.false_by_rule = dict(accused)
    return result


def cost(text: str) -> float:
    """Milliseconds of processor time for a message of 4 KB cut from `text`: the median message,
    each at its best of several, since others share the machine.
    """
    messages = [text[at : at + MESSAGE] for at in range(0, len(text) - MESSAGE + 1, MESSAGE)]
    best = [min(_once(message) for _ in range(ROUNDS)) for message in messages]
    return 1_000 * sorted(best)[len(best) // 2]


def _once(message: str) -> float:
    start = time.thread_time()
    redact.text(message)
    return time.thread_time() - start


def costs() -> dict[str, float]:
    rules.load()
    docs, code = secret_lines.ROOT / "docs", secret_lines.ROOT / "src"
    texts: dict[str, Callable[[], list[Line]]] = {
        "prose": lambda: list(secret_lines.benign(docs)),
        "code": lambda: list(secret_lines.benign(code)),
        "prose with a secret in each message": lambda: _sprinkled(docs),
        "nothing but look-alikes": lambda: secret_lines.look_alikes(1, 1),
        "nothing but secrets": lambda: secret_lines.by_hand("secrets"),
    }
    return {
        name: cost("\n".join(line.text for line in lines())[: 40 * MESSAGE])
        for name, lines in texts.items()
    }


def _sprinkled(folder: Path) -> list[Line]:
    prose = "\n".join(line.text for line in secret_lines.benign(folder))
    secrets = secret_lines.by_hand("secrets")
    pieces = [prose[at : at + MESSAGE - 200] for at in range(0, len(prose), MESSAGE - 200)]
    return [
        Line(f"{piece}\n{secret.text}"[-MESSAGE + 1 :], has_secret=True)
        for piece, secret in zip(pieces, secrets, strict=False)
    ]


def show(results: list[Result], taken: dict[str, float], wrong: int) -> None:
    print(f"{'':<46}{'secrets':>8}{'recall':>9}{'clean':>9}{'false':>9}")
    for one in results:
        recall = f"{one.found / one.secrets:.4f}" if one.secrets else ""
        false = f"{one.false / one.clean:.3%}" if one.clean else ""
        print(f"{one.name:<46}{one.secrets or '':>8}{recall:>9}{one.clean or '':>9}{false:>9}")
    print(f"aims: recall {RECALL}, false positives {FALSE_POSITIVES:.0%} of clean lines\n")
    for one in results:
        show_wrong(one, wrong)
    for name, milliseconds in taken.items():
        rate = MESSAGE / 1000 / milliseconds
        print(f"4 KB of {name:<38}{milliseconds:>8.2f} ms{rate:>8.1f} MB/s")
    if taken:
        print(f"aim: {MILLISECONDS} ms of processor time")


def show_wrong(result: Result, lines: int) -> None:
    for rule, (given, found) in sorted(result.by_rule.items()):
        if rule and found < given:
            print(f"  {result.name}: {rule:<24}{found:>6} of {given}")
    for rule, count in sorted(result.false_by_rule.items()):
        print(f"  {result.name}: {rule:<24}{count:>6} false")
    for text in result.wrong[:lines]:
        print(f"    {text[:160]!r}")


def results_of(options: argparse.Namespace) -> list[Result]:
    if options.paths:
        read = secret_lines.benign if options.benign else secret_lines.labelled
        return [run(str(path), list(read(path))) for path in options.paths]
    return [
        run("made from the rules' examples", secret_lines.made(options.per_rule, options.seed)),
        run("by hand, before the rules", secret_lines.by_hand("secrets")),
        run("by hand, after them", secret_lines.by_hand("held_out")),
        run("by hand, of every format", secret_lines.by_hand("formats")),
        run("look-alikes", secret_lines.look_alikes(options.copies, options.seed)),
        run("look-alikes by hand, after them", secret_lines.by_hand("benign_held_out")),
        run("look-alikes of every format", secret_lines.by_hand("benign_formats")),
        run("ordinary prose and code", secret_lines.ordinary(options.ordinary, options.seed)),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path, help="labelled .jsonl or .tsv, or folders")
    parser.add_argument("--benign", action="store_true", help="every line of PATHS has no secret")
    parser.add_argument("--per-rule", type=int, default=60)
    parser.add_argument("--copies", type=int, default=8, help="of each look-alike")
    parser.add_argument("--ordinary", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--wrong", type=int, default=0, help="show so many wrong lines of each set")
    parser.add_argument("--no-cost", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results = results_of(options)
    taken: dict[str, float] = {} if options.no_cost else costs()
    if options.json:
        said: dict[str, Any] = {"sets": [asdict(one) for one in results], "ms_per_4k": taken}
        print(json.dumps(said, indent=2, ensure_ascii=False))
    else:
        show(results, taken, options.wrong)
