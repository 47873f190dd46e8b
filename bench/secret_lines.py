"""The lines that the secrets bench feeds to the filter, and the labels they carry.

Lines of others come from files, or folders of them:
- `.jsonl`: `{"text": "…", "secret": "…"}`, or `"secret": null` where there is none;
- `.tsv`: `1<TAB>line` with a secret, `0<TAB>line` without; which characters it is, nobody says;
- any other text file, with `--benign`: every line without a secret.
"""

import json
import random
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import secret_specs
from memoryd.redact import rules

ROOT = Path(__file__).parent.parent
HERE = Path(__file__).parent / "lines"
TEXTS = (".md", ".py", ".rst", ".toml", ".sql", ".txt", ".js", ".json", ".yaml", ".yml", ".log")

# Where a whole key stands: prose, configuration, code, commands, logs.
KEYS = [
    "{}",
    "here it is: {} (please keep it)",
    "use {} for the demo, it still works",
    "Ich nehme {} dafür.",
    "export THING={}",
    'thing = "{}"',
    "thing: '{}'",
    '{{"thing": "{}", "n": 1}}',
    '{{\\"thing\\": \\"{}\\"}}',
    "const thing = `{}`;",
    "curl -H 'X-Thing: {}' https://api.example.com/v1",
    "https://api.example.com/v1?thing={}&limit=5",
    "2024-05-01T12:00:00Z DEBUG calling upstream with {}",
    "-  thing: {}",
    "+THING={}",
    "<thing>{}</thing>",
    "| thing | {} |",
    "line one\\n{}\\nline three",
    "(see {})",
    "`{}`",
]
# Around a line that says itself what it holds.
LINES = [
    "{}",
    "{}\n",
    "fyi: {}",
    "> {}",
    "- {}",
    "    {}",
    "+ {}",
    "2024-05-01 12:00:01 INFO {}",
    "We met at noon.\n{}\nSee you on Friday.",
    "# notes\n\n{}\n\n- buy milk",
]


@dataclass(frozen=True)
class Line:
    """A text, and its secrets; with a secret that nobody marked, `secrets` is empty."""

    text: str
    has_secret: bool
    secrets: tuple[str, ...] = ()
    rule: str = ""


def made(per_rule: int, seed: int) -> list[Line]:
    """Lines with a secret of every rule, from its own examples, in carriers of many kinds."""
    chance = random.Random(seed)
    lines = []
    for rule in rules.rules():
        for number in range(per_rule):
            example = rule.examples[number % len(rule.examples)]
            text, secrets = secret_specs.fill(example, chance)
            whole = "⟦" not in example and "\n" not in text
            carrier = chance.choice(KEYS if whole and rule.check != "any" else LINES)
            lines.append(Line(carrier.format(text), True, tuple(secrets), rule.name))
    return lines


def by_hand(name: str) -> list[Line]:
    """The lines of a file in `bench/lines`, filled."""
    chance = random.Random(name)
    lines = []
    for spec in (HERE / f"{name}.txt").read_text().splitlines():
        if spec.strip() and not spec.startswith("# "):
            text, secrets = secret_specs.fill(spec, chance)
            marked = "⟦" in spec
            lines.append(Line(text, marked, tuple(secrets) if marked else ()))
    return lines


def look_alikes(copies: int, seed: int) -> list[Line]:
    """What looks like a secret and is none: the benign lines and every counter-example, carried."""
    chance = random.Random(seed)
    specs = [spec for rule in rules.rules() for spec in rule.counter]
    specs += [
        spec
        for spec in (HERE / "benign.txt").read_text().splitlines()
        if spec.strip() and not spec.startswith("# ")
    ]
    return [
        Line(chance.choice(LINES).format(secret_specs.fill(spec, chance)[0]), False)
        for spec in specs
        for _ in range(copies)
    ]


def ordinary(count: int, seed: int) -> list[Line]:
    """Prose and code as people wrote them: this repository's, and the standard library's."""
    files = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py"), ROOT / "README.md"]
    files += sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    found = [line for file in sorted(files) for line in benign(file)]
    return random.Random(seed).sample(found, min(count, len(found)))


def benign(path: Path) -> Iterator[Line]:
    """Every line of a text file, or of the text files of a folder, as one without a secret."""
    if path.is_dir():
        for file in sorted(one for one in path.rglob("*") if one.suffix in TEXTS):
            yield from benign(file)
        return
    for text in path.read_text(errors="replace").splitlines():
        if text.strip():
            yield Line(text, False)


def labelled(path: Path) -> Iterator[Line]:
    """The lines of `.jsonl` and `.tsv` files, with the labels that they carry."""
    if path.is_dir():
        for file in sorted(one for one in path.rglob("*") if one.suffix in (".jsonl", ".tsv")):
            yield from labelled(file)
        return
    for row in path.read_text(errors="replace").splitlines():
        if path.suffix == ".jsonl":
            said = json.loads(row)
            secret = said["secret"]
            yield Line(said["text"], secret is not None, (secret,) if secret else ())
        else:
            label, _, text = row.partition("\t")
            yield Line(text, label == "1")
