"""A chunk's words as the index keeps them: those of sealed text under a keyed hash."""

from collections.abc import Callable, Mapping
from typing import Any

from memoryd.seal.vault import Keys
from memoryd.search import analyze

TAG = "\x01"  # begins a term that is a tag, which no analysed word does
Hide = Callable[[str], str] | None


def lexical(row: Mapping[str, Any]) -> str:
    """What words are taken from: when and who are part of what was said."""
    return f"({row['ts'].day} {row['ts']:%B %Y}) {row['actor_id']}: {row['text']}"


def of(row: Mapping[str, Any], keys: Keys, hide: Hide) -> tuple[list[str], list[str]]:
    """Terms, each as often as it occurs, and tags; nothing of what is sealed and stays so.

    `hide` is the one of `keys`, made once for many rows.
    """
    sealed = keys.seals(row["sensitivity"], row["position"])
    if sealed and hide is None:
        return [], []
    terms, tags = analyze.terms(lexical(row)), [TAG + tag for tag in row["tags"]]
    if not sealed or hide is None:
        return terms, tags
    return [hide(term) for term in terms], [hide(tag) for tag in tags]


def spellings(term: str, hide: Hide) -> list[str]:
    """As the index may have it: in clear text, and in sealed text."""
    return [term] if hide is None else [term, hide(term)]
