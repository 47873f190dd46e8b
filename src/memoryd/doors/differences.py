"""What changed between two texts, as a unified diff."""

import difflib

MOST_LINES = 2_000  # compared in full; the matcher's time grows with their square


def unified(old: str, new: str, old_name: str, new_name: str) -> str:
    r"""Empty when nothing changed; long texts are compared as a whole.

    >>> print(unified("a\nb\n", "a\nc\n", "one", "two"), end="")
    --- one
    +++ two
    @@ -1,2 +1,2 @@
     a
    -b
    +c
    """
    before, after = _lines(old), _lines(new)
    if max(len(before), len(after)) > MOST_LINES and old != new:
        lines = _as_a_whole(before, after, old_name, new_name)
    else:
        lines = [*difflib.unified_diff(before, after, old_name, new_name, lineterm="")]
    return "".join(f"{line}\n" for line in lines)


def _lines(text: str) -> list[str]:
    """Without their ends; a last line that has none says so, as `diff` and `patch` do."""
    *lines, last = text.split("\n")
    return [*lines, f"{last}\n\\ No newline at end of file"] if last else lines


def _as_a_whole(before: list[str], after: list[str], old_name: str, new_name: str) -> list[str]:
    """All between what they begin and end with alike, out and in."""
    shortest = min(len(before), len(after))
    start = next((at for at in range(shortest) if before[at] != after[at]), shortest)
    most = shortest - start
    end = next((at for at in range(most) if before[-1 - at] != after[-1 - at]), most)
    gone, come = before[start : len(before) - end], after[start : len(after) - end]
    place = f"@@ -{start + bool(gone)},{len(gone)} +{start + bool(come)},{len(come)} @@"
    removed, added = [f"-{line}" for line in gone], [f"+{line}" for line in come]
    return [f"--- {old_name}", f"+++ {new_name}", place, *removed, *added]
