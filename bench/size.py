"""What an install weighs: packages and megabytes, in an environment made for it.

`python bench/size.py`: installs memoryd, without its development tools, into a fresh environment.
"""

import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
MEGABYTE = 1024 * 1024


def weight(folder: Path) -> int:
    return sum(file.lstat().st_size for file in folder.rglob("*") if file.is_file())


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        pip = [str(python), "-m", "pip", "--disable-pip-version-check"]
        before = weight(Path(folder))
        constraints = str(ROOT / "constraints.txt")
        subprocess.run([*pip, "install", "--quiet", "-c", constraints, str(ROOT)], check=True)
        listed = subprocess.run([*pip, "list", "--format=json"], check=True, capture_output=True)
        names = [one["name"] for one in json.loads(listed.stdout)]
        ours = [name for name in names if name not in ("pip", "setuptools")]
        site = next(Path(folder).glob("lib/python*/site-packages"))
        largest = sorted(
            ((weight(one), one.name) for one in site.iterdir() if one.is_dir()), reverse=True
        )
        print(f"packages       {len(ours)} (aim: 55 or fewer)")
        print(
            f"install size   {(weight(Path(folder)) - before) / MEGABYTE:.0f} MB (aim: 330 or less)"
        )
        for size, name in largest[:6]:
            print(f"  {name:<28}{size / MEGABYTE:>7.1f} MB")
    print(f"Python         {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
