"""How many secrets the filter finds, how often it is wrong, and what it costs.

`python bench/secrets.py`: on lines made from the rules' own examples, and on lines written by hand.
`python bench/secrets.py FOLDER|FILE …`: on lines labelled by others (see `bench/secret_lines.py`).

The standard library has a module of this name, and whatever is run from this folder finds this one
first: imported, it makes room for the other.
"""
# ruff: noqa: A005

import importlib.util
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

if __name__ == "__main__":
    import secret_bench

    secret_bench.main()
elif TYPE_CHECKING:

    def token_bytes(nbytes: int | None = None) -> bytes: ...
    def token_hex(nbytes: int | None = None) -> str: ...
    def token_urlsafe(nbytes: int | None = None) -> str: ...
else:
    path = Path(sysconfig.get_path("stdlib")) / "secrets.py"
    spec = importlib.util.spec_from_file_location("secrets", path)
    sys.modules["secrets"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["secrets"])
