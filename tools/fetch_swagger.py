"""Put Swagger UI into the package, so that /docs works offline: `python tools/fetch_swagger.py`.

Unchanged files of the npm package `swagger-ui-dist` (Apache-2.0), with their licences. Needs npm.
"""

import subprocess
import tarfile
import tempfile
from pathlib import Path

PACKAGE = "swagger-ui-dist@5.34.1"
FILES = (
    "swagger-ui.css",
    "swagger-ui-bundle.js",
    "swagger-ui-bundle.js.LICENSE.txt",
    "LICENSE",
    "NOTICE",
)
TARGET = Path(__file__).parent.parent / "src/memoryd/doors/web/static/vendor/swagger-ui"


def main() -> None:
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=folder, check=True)
        with tarfile.open(next(Path(folder).glob("*.tgz"))) as packed:
            for name in FILES:
                member = packed.extractfile(f"package/{name}")
                assert member is not None
                (TARGET / name).write_bytes(member.read())
    print(f"wrote {TARGET}")


if __name__ == "__main__":
    main()
