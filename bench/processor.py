"""Processor time of a daemon and of its PostgreSQL, as Linux tells it: where others share the
machine, steadier than a clock.
"""

import os
from pathlib import Path

TICK = 1000 / os.sysconf("SC_CLK_TCK")  # milliseconds
_PARENT, _USER, _SYSTEM = 1, 11, 12  # fields of `stat`, after the name


def spent(home: Path, pid: int) -> dict[str, float]:
    """Milliseconds since their start; nothing where the system does not tell."""
    if not Path("/proc/self/stat").exists():
        return {}
    [master] = home.glob("postgres-*/data/postmaster.pid")
    server = int(master.read_text().split()[0])
    rows = dict(_processes())
    backends = [row for one, row in rows.items() if server in (one, row[_PARENT])]
    ours = [
        row for one, row in rows.items() if one == pid or (row[_PARENT] == pid and one != server)
    ]
    return {"daemon": sum(map(_time, ours)), "PostgreSQL": sum(map(_time, backends))}


def _processes() -> list[tuple[int, list[int]]]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                said = (folder / "stat").read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue  # it ended meanwhile
            fields = said.rpartition(")")[2].split()
            found.append((int(folder.name), [0, *map(int, fields[1:15])]))
    return found


def _time(row: list[int]) -> float:
    return (row[_USER] + row[_SYSTEM]) * TICK
